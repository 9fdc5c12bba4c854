import type { RegisteredOperation } from '../../../api/http/operation/operation.ts';
import { idsIn, standingParams, targetsOf } from '../aim.ts';
import { pathWith, sampleBody } from '../requests.ts';
import { told, type Fault, type Stage } from '../stage.ts';
import type { Actor } from '../world/actors.ts';
import { platform, type Place } from '../world/places.ts';
import { insidersOf } from './foreign.ts';

/** Tables whose rows of the organization and of the platform everybody there sees. */
const ofAnyScope = [
  'agents',
  'agent_revisions',
  'personas',
  'tools',
  'toolkits',
  'toolkit_revisions',
  'skills',
  'review_playbooks',
  'review_playbook_revisions',
];
const seenByAll: ReadonlySet<string> = new Set([...ofAnyScope, 'service_keys', 'users']);

/** Operations that use the row of their path and change nothing of it. */
const onlyUsing: ReadonlySet<string> = new Set(['testTool', 'validateAgentRevision', 'cloneAgent', 'cloneReviewPlaybook']);

/** G8: a row that is visible and not the actor's to change is 403 `resource_forbidden`, and stays as it is. */
export async function forbiddenFaults(stage: Stage, operations = stage.operations): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const operation of operations.filter(({ method, operationId }) => method !== 'GET' && !onlyUsing.has(operationId))) {
    const targets = targetsOf(operation);
    const last = targets.at(-1);
    if (!last || !targets.every(({ table }) => seenByAll.has(table))) continue;
    for (const actor of insidersOf(stage, operation)) {
      for (const place of widerPlaces(stage, actor, last.table)) faults.push(...(await rowFaults(stage, operation, { actor, place })));
    }
  }
  return faults;
}

function widerPlaces(stage: Stage, actor: Actor, table: string): Place[] {
  const organization = actor.home.workspaceId === null ? [] : [stage.world.a.organization];
  return ofAnyScope.includes(table) ? [...organization, platform] : organization;
}

async function rowFaults(stage: Stage, operation: RegisteredOperation, { actor, place }: { actor: Actor; place: Place }): Promise<Fault[]> {
  const params = standingParams(stage, operation, place);
  const target = targetsOf(operation).at(-1);
  if (!target) return [];
  const look = () =>
    stage.world.rows.query(`select to_jsonb(t)::text as row from ${target.table} t where id = $1`, [params[target.parameter]]);
  const before = await look();
  const body = sampleBody(operation, idsIn(stage, stage.world.ground.home));
  const sent = await stage.send(operation, actor, { url: pathWith(operation, params), body });
  const after = await look();

  const faults: Fault[] = [];
  if (sent.status !== 403 || sent.code !== 'resource_forbidden')
    faults.push({ operation: operation.operationId, fault: `a row of ${place.name}, ${told(sent)} instead of 403 resource_forbidden` });
  if (JSON.stringify(before) !== JSON.stringify(after))
    faults.push({ operation: operation.operationId, fault: `${actor.name} changed a row of ${place.name}` });
  return faults;
}
