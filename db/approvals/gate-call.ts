import type { CallGate } from '../../workflows/contracts/approvals.ts';
import type { CallState } from '../runs/calls/call-state.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/**
 * Puts a locked call before people: the question is asked by `openGates`. Nothing that a try of it still does counts from now on. `attempt`: only while
 * that try holds it. False: it does not any more.
 */
export async function gateCall(tx: TenantTransaction, call: CallState, gate: CallGate, attempt: number | null = null): Promise<boolean> {
  const gated = await rows(
    tx.em,
    `update tool_calls set state = 'recorded', gate = ?, critical = critical or ?
      where id = ? and state in ('ready', 'executing') and (?::int is null or (attempt = ?::int and state = 'executing')) returning id`,
    [gate, call.live?.critical ?? false, call.id, attempt, attempt],
  );
  return gated.length > 0;
}
