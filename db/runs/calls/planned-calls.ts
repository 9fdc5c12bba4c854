import { sql } from 'kysely';
import type { PlannedCall } from '../../../workflows/contracts/runs/agent-run.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { CheckedCall } from '../steps/stored-step.ts';

/** A call of a stored step, as the workflow's plan needs it. */
export type StoredCall = Awaited<ReturnType<typeof readPlannedCalls>>[number];

const plannedCalls = prepared(({ messageId }: ParametersOf<{ readonly messageId: string }>) =>
  query
    .selectFrom('tool_calls')
    .select(['id', 'kind', 'effect', 'concurrency', 'timeoutS', 'isIdempotent', 'state', 'gate', 'clientOwned'])
    .where('messageId', '=', messageId)
    .orderBy('pos'),
);

/** Returns the calls that a message asks for, in the model's order. */
export function readPlannedCalls(tx: TenantTransaction, messageId: string) {
  return rows(tx.em, plannedCalls({ messageId }));
}

/** Converts a call to what the workflow needs to order and bound it. */
export function toPlannedCall(call: StoredCall): PlannedCall {
  const isOpen = call.state === 'recorded' || call.state === 'gated' || call.state === 'ready' || call.state === 'executing';
  return {
    toolCallId: call.id,
    effect: call.effect,
    concurrency: call.concurrency,
    timeoutS: call.timeoutS,
    isRepeatable: call.effect === 'read' || call.isIdempotent,
    isSettled: !isOpen,
    // An omitted flag means false, so that a plain call stays short in the history.
    ...(call.gate !== null && (call.state === 'recorded' || call.state === 'gated') ? { gate: true } : {}),
    ...(call.clientOwned ? { client: true } : {}),
    ...(call.kind === 'delegate' && !call.clientOwned ? { child: true } : {}),
  };
}

const callsMade = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('tool_calls')
    .select(['slug', sql<number>`count(*)::int`.as('calls')])
    .where('runId', '=', runId)
    .groupBy('slug'),
);

/** Returns how many calls the run has made so far, by slug. */
export async function readCallsMade(tx: TenantTransaction, runId: string): Promise<Map<string, number>> {
  return new Map((await rows(tx.em, callsMade({ runId }))).map(({ slug, calls }) => [slug, calls]));
}

/** Returns the state in which a checked call is stored: refused, to be approved, or ready to execute. */
export function storedState({ refusal, gate }: Pick<CheckedCall, 'refusal' | 'gate'>): 'failed' | 'recorded' | 'ready' {
  if (refusal !== null) return 'failed';
  return gate === null ? 'ready' : 'recorded';
}
