import type { RegisteredOperation } from '../../../api/http/operation/operation.ts';
import { isFull } from '../../chaos/whole.ts';
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
    for (const spec of playedSpecs(operation, specs)) faults.push(...(await cellFaults(stage, operation, spec)));
  }
  return faults;
}

/** What `npm test` plays, CI all: of each answer that an operation has for the actors one of them, the first who succeeds, the last who is refused. */
export function playedSpecs(operation: RegisteredOperation, specs: readonly ActorSpec[]): readonly ActorSpec[] {
  if (isFull) return specs;
  const byAnswer = Map.groupBy(specs, (spec) => JSON.stringify(expectedOf(operation, spec)));
  return [...byAnswer.values()].flatMap((same) => same.at(expectedOf(operation, same[0] as ActorSpec).status < 300 ? 0 : -1) ?? []);
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
