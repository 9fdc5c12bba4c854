import type { RegisteredOperation } from '../../../api/http/operation/operation.ts';
import { oddAuditTimes } from '../../support/audit-times.ts';
import { aim, groundFor } from '../aim.ts';
import { checksums, differing } from '../checksums.ts';
import { expectedOf } from '../expected.ts';
import { told, type Fault, type Sent, type Stage } from '../stage.ts';
import { actorSpecs, type ActorSpec } from '../world/actors.ts';

/** Operations whose credential none of the twelve holds; `useOwnCredentials` brings them to success. */
const withOwnCredential: ReadonlySet<string> = new Set(['deleteOauthClientRegistration']);

/** A client registers, and takes its registration back with the token that it was given. */
export async function useOwnCredentials(stage: Stage): Promise<void> {
  const payload = { redirect_uris: ['https://canary.test/callback'], client_name: 'Canary' };
  const made = (await stage.api.app.inject({ method: 'POST', url: '/oauth/register', payload })).json();
  const operation = stage.operations.find(({ operationId }) => operationId === 'deleteOauthClientRegistration');
  const headers = { authorization: `Bearer ${made.registration_access_token}` };
  if (operation) await stage.send(operation, stage.world.actor('nobody'), { url: `/oauth/register/${made.client_id}`, headers });
}

/** G9: of all that was sent, each success of a mutation has exactly one entry with the registry's action, and nothing else has any; times in it are those of the wire. */
export async function auditFaults(stage: Stage, operations = stage.operations): Promise<Fault[]> {
  const entries = await entriesOf(stage);
  const faults: Fault[] = [];
  for (const operation of operations) {
    const sent = stage.sent.filter((candidate) => candidate.operation.operationId === operation.operationId);
    for (const answer of sent) faults.push(...entryFaults(operation, answer, entries.get(answer.correlationId) ?? []));
    const hasSucceeded = sent.some(({ status }) => status < 300);
    if (operation.audit !== 'none' && !hasSucceeded)
      faults.push({ operation: operation.operationId, fault: 'has never succeeded, so its audit entry was not seen' });
  }
  const times = await oddAuditTimes(stage.api.database);
  return [...faults, ...times.map((fault) => ({ operation: 'any', fault }))];
}

interface Entry {
  readonly correlation_id: string;
  readonly action: string;
  readonly operation_id: string | null;
  readonly outcome: string;
}

async function entriesOf(stage: Stage): Promise<Map<string, Entry[]>> {
  const found = await stage.world.rows.query<Entry & Record<string, unknown>>(
    'select correlation_id, action, operation_id, outcome from audit_entries where operation_id is not null',
  );
  return Map.groupBy(found, (entry) => entry.correlation_id);
}

function entryFaults(operation: RegisteredOperation, answer: Sent, entries: readonly Entry[]): Fault[] {
  const seen = entries.map(({ action, operation_id, outcome }) => `${action} by ${operation_id}, ${outcome}`).join('; ');
  const isLogged = answer.status < 300 && operation.audit !== 'none' && operation.method !== 'GET';
  const wanted = isLogged ? `${operation.audit} by ${operation.operationId}, success` : '';
  return seen === wanted
    ? []
    : [{ operation: operation.operationId, fault: `${told(answer)} has the entries "${seen}" instead of "${wanted}"` }];
}

const userAgent = 'must-be-rolled-back';

/** G9: what fails at its very end leaves neither an entry nor anything else. The commit is made to fail by a deferred trigger. */
export async function rollbackFaults(stage: Stage, operations = stage.operations): Promise<Fault[]> {
  const { rows } = stage.world;
  await rows.query(
    `create or replace function refuse_entry() returns trigger language plpgsql as $$ begin raise exception 'refused at the commit'; end $$`,
  );
  await rows.query(`create constraint trigger refuse_entry after insert on audit_entries deferrable initially deferred
    for each row when (new.user_agent = '${userAgent}') execute function refuse_entry()`);
  const faults: Fault[] = [];
  for (const operation of operations.filter(({ audit, operationId }) => audit !== 'none' && !withOwnCredential.has(operationId)))
    faults.push(...(await operationRollbackFaults(stage, operation)));
  await rows.query('drop trigger refuse_entry on audit_entries');
  return faults;
}

async function operationRollbackFaults(stage: Stage, operation: RegisteredOperation): Promise<Fault[]> {
  const spec = authorizedActor(operation);
  const ground = await groundFor(stage, operation);
  const actor = await stage.world.enter(spec, ground);
  const ask = await aim(stage, operation, { actor, ground, isFresh: true });
  const before = await checksums(stage.world.rows);
  const sent = await stage.send(operation, actor, { ...ask, headers: { ...ask.headers, 'user-agent': userAgent } });
  const changed = differing(before, await checksums(stage.world.rows));

  const faults = changed.map((table) => ({ operation: operation.operationId, fault: `was rolled back, yet left something in ${table}` }));
  if (sent.status < 500) faults.push({ operation: operation.operationId, fault: `its commit was refused, yet it answers ${told(sent)}` });
  return faults;
}

/** Somebody for whom the operation succeeds, of the whole organization if possible. */
export function authorizedActor(operation: RegisteredOperation): ActorSpec {
  const preferred = ['owner A', 'operator in A', 'operator', 'nobody'];
  const fitting = preferred
    .flatMap((name) => actorSpecs.filter((spec) => spec.name === name))
    .find((spec) => expectedOf(operation, spec).status < 300);
  if (!fitting) throw new Error(`nobody is authorized for ${operation.operationId}`);
  return fitting;
}
