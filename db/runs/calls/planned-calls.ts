import type { PlannedCall } from '../../../workflows/contracts/runs/agent-run.ts';
import type { CallApproval } from '../../../workflows/contracts/runs/approvals.ts';
import type { ToolCallState, ToolKind } from '../../../workflows/contracts/runs/runs.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { CheckedCall } from '../steps/stored-step.ts';

/** A call of a stored step, as the workflow's plan needs it. */
export interface StoredCall {
  readonly id: string;
  readonly kind: ToolKind | null;
  readonly effect: 'read' | 'write';
  readonly concurrency: 'read' | 'write' | 'exclusive';
  readonly timeout_s: number;
  readonly is_idempotent: boolean;
  readonly state: ToolCallState;
  readonly gate: CallApproval | null;
  readonly client_owned: boolean;
}

/** Returns the calls that a message asks for, in the model's order. */
export function readPlannedCalls(tx: TenantTransaction, messageId: string): Promise<StoredCall[]> {
  return rows<StoredCall>(
    tx.em,
    'select id, kind, effect, concurrency, timeout_s, is_idempotent, state, gate, client_owned from tool_calls where message_id = ? order by pos',
    [messageId],
  );
}

/** Converts a call to what the workflow needs to order and bound it. */
export function toPlannedCall(call: StoredCall): PlannedCall {
  const isOpen = call.state === 'recorded' || call.state === 'gated' || call.state === 'ready' || call.state === 'executing';
  return {
    toolCallId: call.id,
    effect: call.effect,
    concurrency: call.concurrency,
    timeoutS: call.timeout_s,
    isRepeatable: call.effect === 'read' || call.is_idempotent,
    isSettled: !isOpen,
    // An omitted flag means false, so that a plain call stays short in the history.
    ...(call.gate !== null && (call.state === 'recorded' || call.state === 'gated') ? { gate: true } : {}),
    ...(call.client_owned ? { client: true } : {}),
    ...(call.kind === 'delegate' && !call.client_owned ? { child: true } : {}),
  };
}

/** Returns how many calls the run has made so far, by slug. */
export async function readCallsMade(tx: TenantTransaction, runId: string): Promise<Map<string, number>> {
  const counted = await rows<{ slug: string; calls: number }>(
    tx.em,
    'select slug, count(*)::int as calls from tool_calls where run_id = ? group by slug',
    [runId],
  );
  return new Map(counted.map((row) => [row.slug, row.calls]));
}

/** Returns the state in which a checked call is stored: refused, to be approved, or ready to execute. */
export function storedState({ refusal, gate }: Pick<CheckedCall, 'refusal' | 'gate'>): 'failed' | 'recorded' | 'ready' {
  if (refusal !== null) return 'failed';
  return gate === null ? 'ready' : 'recorded';
}
