import type { RegisteredOperation } from '../../../api/http/operation/operation.ts';
import { aim, groundFor } from '../aim.ts';
import { checksums, differing } from '../checksums.ts';
import { expectedOf } from '../expected.ts';
import { told, type Fault, type Stage } from '../stage.ts';
import { actorSpecs, type ActorSpec, type Ground } from '../world/actors.ts';
import { authorizedActor } from './audit.ts';

/** One way in which a place takes no more writes. */
export interface Freeze {
  readonly reason: string;
  readonly set: string;
  readonly unset: string;
  readonly placeOf: (ground: Ground) => string;
  /** Who tries; without it somebody for whom each operation succeeds. */
  readonly by?: string;
}

export const freezes: readonly Freeze[] = [
  {
    reason: 'organization_suspended',
    set: "update organizations set status = 'suspended', suspended_at = now() where id = $1",
    unset: "update organizations set status = 'active', suspended_at = null where id = $1",
    placeOf: (ground) => ground.organization.organizationId,
  },
  {
    reason: 'organization_deleting',
    set: "update organizations set status = 'deleting', delete_after = now() + interval '1 day' where id = $1",
    unset: "update organizations set status = 'active', delete_after = null where id = $1",
    placeOf: (ground) => ground.organization.organizationId,
  },
  {
    reason: 'workspace_archived',
    set: "update workspaces set is_active = false, archived_at = now(), purge_after = now() + interval '1 day' where id = $1",
    unset: 'update workspaces set is_active = true, archived_at = null, purge_after = null where id = $1',
    placeOf: (ground) => ground.home.workspaceId,
    // All that is written lies in that workspace; rows of the whole organization live on beside it.
    by: 'owner A1',
  },
];

const openAreas: ReadonlySet<string> = new Set(['Authentication', 'Sessions', 'Oauth', 'Operator']);
/** What lifts the freeze itself, and what opens a stream to read. */
const openByName: ReadonlySet<string> = new Set(['restoreWorkspace', 'createStreamToken']);

/** Whether a frozen place still admits an operation: Authentication, Sessions, Oauth, restore, resume, DELETE, purge. */
function isOpen({ area, method, operationId }: RegisteredOperation): boolean {
  return openAreas.has(area) || method === 'DELETE' || openByName.has(operationId);
}

/** Every write in a frozen place is 423 and changes nothing, but for those that stay open, which succeed. */
export async function frozenFaults(stage: Stage, freeze: Freeze): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const operation of stage.operations.filter(({ audit, area }) => audit !== 'none' && !openAreas.has(area)))
    faults.push(...(await operationFaults(stage, operation, freeze)));
  return faults;
}

function whoTries(operation: RegisteredOperation, { by }: Freeze): ActorSpec | null {
  if (by === undefined) return authorizedActor(operation);
  return actorSpecs.find((spec) => spec.name === by && expectedOf(operation, spec).status < 300) ?? null;
}

async function operationFaults(stage: Stage, operation: RegisteredOperation, freeze: Freeze): Promise<Fault[]> {
  const { rows } = stage.world;
  const spec = whoTries(operation, freeze);
  if (!spec) return [];
  const ground = await groundFor(stage, operation);
  const actor = await stage.world.enter(spec, ground);
  const ask = await aim(stage, operation, { actor, ground, isFresh: true });
  await rows.query(freeze.set, [freeze.placeOf(ground)]);
  const before = await checksums(rows);
  const sent = await stage.send(operation, actor, ask);
  const changed = differing(before, await checksums(rows));
  await rows.query(freeze.unset, [freeze.placeOf(ground)]);

  if (isOpen(operation))
    return sent.status < 300 ? [] : [{ operation: operation.operationId, fault: `must stay open, yet answers ${told(sent)}` }];
  const faults = changed.map((table) => ({ operation: operation.operationId, fault: `left something in ${table} of a frozen place` }));
  const context = sent.body?.['context'];
  const reason: unknown = typeof context === 'object' && context !== null ? Reflect.get(context, 'reason') : null;
  if (sent.code === 'resource_frozen' && reason === freeze.reason) return faults;
  return [...faults, { operation: operation.operationId, fault: `is to be refused with ${freeze.reason}, yet answers ${told(sent)}` }];
}
