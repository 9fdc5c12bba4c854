import type { CallApproval } from '../../../workflows/contracts/runs/approvals.ts';
import { markForApproval } from '../../../db/runs/calls/require-approval.ts';
import type { CallState } from '../../../db/runs/calls/call-state.ts';
import { recordRetry } from './tool-calls.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';

/**
 * Makes a locked call await approval; `openGates` asks the question. Nothing that a try of the call still does counts from now on. With `attempt`, only while that
 * try holds the call. Returns false when it no longer does.
 */
export function requireApproval(
  tx: TenantTransaction,
  call: CallState,
  gate: CallApproval,
  attempt: number | null = null,
): Promise<boolean> {
  // What its tool says now counts too.
  return markForApproval(tx, { callId: call.id, gate, isCritical: call.live?.critical ?? false, attempt });
}

/** Why a call that was executed awaits a decision. */
export interface Doubt {
  readonly gate: 'auth' | 'confirmation';
  readonly attempt: number | null;
  readonly code: string;
}

/** Makes a call await a decision that was executed without a known outcome. Returns false when no try, or another one, holds the call. */
export async function askAgain(tx: TenantTransaction, call: CallState, { gate, attempt, code }: Doubt): Promise<boolean> {
  if (!(await requireApproval(tx, call, gate, attempt))) return false;
  await recordRetry(tx, call, { attempt: call.attempt, cause: 'upstream_error', code });
  return true;
}
