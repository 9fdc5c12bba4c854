import type { CallBill } from '../../billing/ledger/call-bill.ts';
import { queueStatement, row, rows } from '../../sql.ts';
import { parseFrame } from '../../streams/frame-text.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A call that leaves for its provider: everything its bill needs in case no answer ever arrives. */
export interface CallInFlight extends CallBill {
  readonly attempt: number;
  /** The message that its deltas build. */
  readonly messageId: string;
}

export interface StepOfCall {
  readonly runId: string;
  readonly step: number;
}

/** Records a call that is about to leave. Returns false when a later try holds the step. */
export async function writeInFlight(tx: TenantTransaction, { runId, step }: StepOfCall, call: CallInFlight): Promise<boolean> {
  const marked = await row(
    tx.em,
    `update run_steps set in_flight = ?::jsonb
      where run_id = ? and step = ? and tool_call_id is null and attempt = ? and status = 'running' returning id`,
    [JSON.stringify(call), runId, step, call.attempt],
  );
  return marked !== null;
}

/** Returns the step's call that has left and is not settled, or null. */
export async function readInFlight(tx: TenantTransaction, { runId, step }: StepOfCall): Promise<CallInFlight | null> {
  const found = await row<{ in_flight: CallInFlight }>(
    tx.em,
    'select in_flight from run_steps where run_id = ? and step = ? and tool_call_id is null and in_flight is not null',
    [runId, step],
  );
  return found?.in_flight ?? null;
}

/** Clears the call of a try that is settled or has never left. Does nothing where no such call is in flight. */
export async function endFlight(tx: TenantTransaction, { runId, step, attempt }: StepOfCall & { readonly attempt: number }): Promise<void> {
  await queueStatement(
    tx.em,
    "update run_steps set in_flight = null where run_id = ? and step = ? and tool_call_id is null and (in_flight ->> 'attempt')::int = ?",
    [runId, step, attempt],
  );
}

/** Returns the UTF-8 bytes of everything generated for a message, as far as its deltas have been archived: text, reasoning and arguments of calls. */
export async function streamedBytes(tx: TenantTransaction, runId: string, messageId: string): Promise<number> {
  const frames = await rows<{ text: string }>(
    tx.em,
    `select frame as text from run_frame_chunks, unnest(frames) as f(frame)
      where run_id = ? and position(? in frame) > 0 and left(frame, 120) ~ '"type":"(message\\.delta|reasoning\\.delta|tool\\.call)"'`,
    [runId, `"message_id":"${messageId}"`],
  );
  return frames.reduce((sum, { text }) => sum + Buffer.byteLength(generatedIn(text)), 0);
}

function generatedIn(text: string): string {
  const frame = parseFrame(text);
  if (frame.type === 'message.delta' || frame.type === 'reasoning.delta') return frame.data.delta;
  return frame.type === 'tool.call' ? (frame.data.args_delta ?? '') : '';
}
