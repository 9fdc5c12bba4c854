import type { CallApproval } from '../../workflows/contracts/runs/approvals.ts';
import { requireApproval } from '../../db/approvals/gate-call.ts';
import type { CallState } from '../../db/runs/calls/call-state.ts';
import { recordRetry } from '../runs/calls/tool-calls.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/**
 * Makes a locked call await approval: `openGates` asks the question. Later writes of its tries no longer count. `attempt`: only while that try holds the call.
 * Returns false when it no longer does.
 */
export function gateCall(tx: TenantTransaction, call: CallState, gate: CallApproval, attempt: number | null = null): Promise<boolean> {
  // The tool's current row counts too.
  return requireApproval(tx, { callId: call.id, gate, isCritical: call.live?.critical ?? false, attempt });
}

/** Why an approval is needed for a call that was executed. */
export interface Doubt {
  readonly gate: 'auth' | 'confirmation';
  readonly attempt: number | null;
  readonly code: string;
}

/** Asks a person what becomes of a call whose execution had no conclusive result. Returns false when no try, or not this one, holds it any more. */
export async function askAgain(tx: TenantTransaction, call: CallState, { gate, attempt, code }: Doubt): Promise<boolean> {
  if (!(await gateCall(tx, call, gate, attempt))) return false;
  await recordRetry(tx, call, { attempt: call.attempt, cause: 'upstream_error', code });
  return true;
}
