import { sql } from 'kysely';
import { followedTime } from '../database-clock.ts';
import { literals } from '../expressions.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import type { CallApprovalState } from '../../workflows/contracts/runs/agent-run.ts';
import { openStates } from '../runs/calls/call-state.ts';
import { toPlannedCall } from '../runs/calls/planned-calls.ts';
import { rows, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { RunState } from '../runs/run-state.ts';

export const nothingOpen: CallApprovalState = { ready: [], open: 0, nextMs: 0 };

const openCalls = prepared(({ runId, step }: ParametersOf<{ readonly runId: string; readonly step: number }>) =>
  query
    .selectFrom('tool_calls as c')
    .select(['c.id', 'c.kind', 'c.effect', 'c.concurrency', 'c.timeoutS', 'c.isIdempotent', 'c.state', 'c.gate', 'c.clientOwned'])
    .select([
      // The end of the pending question, or of the client's time.
      sql<string | null>`case when c.client_owned and c.state = 'ready' then c.deadline_at
        else (select a.expires_at from approvals a where a.tool_call_id = c.id and a.status = 'pending') end`.as('until'),
      // A required answer did not arrive in time.
      sql<boolean>`c.state = 'gated' and exists (
        select from approvals a where a.tool_call_id = c.id and a.status = 'expired' and a.on_expiry = 'fail')`.as('endsRun'),
    ])
    .where('c.runId', '=', runId)
    .where('c.step', '=', step)
    .where('c.state', 'in', literals(...openStates))
    .orderBy('c.pos'),
);

/** Reads what still keeps a step from ending. */
export async function readGateState(tx: TenantTransaction, runId: string, step: number): Promise<CallApprovalState> {
  const calls = await rows(tx.em, openCalls({ runId, step }));
  const ends = calls.some((call) => call.endsRun);
  const untils = calls.flatMap(({ until }) => (until === null ? [] : [new Date(until).getTime()]));
  return {
    ready: calls.filter((call) => call.state === 'ready' && call.gate !== null && !call.clientOwned).map(toPlannedCall),
    open: calls.filter((call) => call.until !== null || call.state === 'recorded').length,
    nextMs: untils.length === 0 ? 0 : leftMs(tx, Math.min(...untils)),
    ...(ends ? { ends: 'approval_expired' as const } : {}),
  };
}

/** Returns the milliseconds until an instant, never 0, which would mean that nothing is open. */
export function leftMs(tx: Pick<TenantTransaction, 'em'>, instant: number): number {
  return Math.max(1, Math.ceil(instant - followedTime(tx.em).getTime()));
}

const sourceOf = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query.selectFrom('runs').select('source').where('id', '=', runId),
);

/** Whether a run's tree works for an evaluation, in which no person is asked. */
export async function isEvaluation(tx: TenantTransaction, run: RunState): Promise<boolean> {
  if (run.source === 'evaluation') return true;
  if (run.root_run_id === run.id) return false;
  const root = await row(tx.em, sourceOf({ runId: run.root_run_id }));
  return root?.source === 'evaluation';
}
