import type { CallApproval } from '../../workflows/contracts/runs/approvals.ts';
import { requireApproval } from '../../db/approvals/gate-call.ts';
import type { CallState } from '../../db/runs/calls/call-state.ts';
import { recordRetry } from '../runs/calls/tool-calls.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/**
 * Puts a locked call before people: the question is asked by `openGates`. Nothing that a try of it still does counts from now on. `attempt`: only while
 * that try holds it. False: it does not any more.
 */
export function gateCall(tx: TenantTransaction, call: CallState, gate: CallApproval, attempt: number | null = null): Promise<boolean> {
  // What its tool says now counts too.
  return requireApproval(tx, { callId: call.id, gate, isCritical: call.live?.critical ?? false, attempt });
}

/** Why people are asked about a call that was executed. */
export interface Doubt {
  readonly gate: 'auth' | 'confirmation';
  readonly attempt: number | null;
  readonly code: string;
}

/** People are to say what becomes of a call that was executed to no end. False: no try, or not this one, holds it any more. */
export async function askAgain(tx: TenantTransaction, call: CallState, { gate, attempt, code }: Doubt): Promise<boolean> {
  if (!(await gateCall(tx, call, gate, attempt))) return false;
  await recordRetry(tx, call, { attempt: call.attempt, cause: 'upstream_error', code });
  return true;
}
