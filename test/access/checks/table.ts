import type { RegisteredOperation } from '../../../api/http/operation/operation.ts';
import { aim, groundFor } from '../aim.ts';
import { expectedOf } from '../expected.ts';
import { told, type Fault, type Stage } from '../stage.ts';
import { actorSpecs, type ActorSpec } from '../world/actors.ts';

/** G1 and G2: each operation, tried by each of the thirteen with a request that is right, answers what the design says. */
export async function tableFaults(
  stage: Stage,
  operations: readonly RegisteredOperation[] = stage.operations,
  specs: readonly ActorSpec[] = actorSpecs,
): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const operation of operations) {
    for (const spec of specs) faults.push(...(await cellFaults(stage, operation, spec)));
  }
  return faults;
}

async function cellFaults(stage: Stage, operation: RegisteredOperation, spec: ActorSpec): Promise<Fault[]> {
  const isRead = operation.method === 'GET';
  const ground = await groundFor(stage, operation);
  const actor = isRead ? stage.world.actor(spec.name) : await stage.world.enter(spec, ground);
  const { status, code } = expectedOf(operation, spec);
  const ask = await aim(stage, operation, { actor, ground, isFresh: !isRead });
  const sent = await stage.send(operation, actor, ask);

  if (sent.status === status && (code === null || sent.code === code)) return [];
  return [{ operation: operation.operationId, fault: `${told(sent)} instead of ${status}${code ? ` ${code}` : ''}${hint(sent.status)}` }];
}

function hint(status: number): string {
  return status === 422 || status === 409 ? '. A sample that the operation accepts belongs into test/access/overrides.ts' : '';
}
