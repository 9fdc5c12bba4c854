import { sql, type Expression } from 'kysely';
import type { CallBill } from '../../billing/ledger/call-bill.ts';
import { jsonb, jsonText, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, queueStatement, row, rows } from '../../sql.ts';
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

function updateStep({ runId, step }: ParametersOf<StepOfCall>) {
  return query.updateTable('run_steps').where('runId', '=', runId).where('step', '=', step).where('toolCallId', 'is', null);
}

interface LeavingCall extends StepOfCall {
  readonly attempt: number;
  readonly call: JsonText<CallInFlight>;
}

const leavingCall = prepared((p: ParametersOf<LeavingCall>) =>
  updateStep(p)
    .set({ inFlight: jsonb(p.call) })
    .where('attempt', '=', p.attempt)
    .where('status', '=', sql.lit('running')),
);

/** Records a call that is about to leave. Returns false when a later try holds the step. */
export async function writeInFlight(tx: TenantTransaction, { runId, step }: StepOfCall, call: CallInFlight): Promise<boolean> {
  return (await change(tx.em, leavingCall({ runId, step, attempt: call.attempt, call: jsonText(call) }))) > 0;
}

const unsettledCall = prepared(({ runId, step }: ParametersOf<StepOfCall>) =>
  query
    .selectFrom('run_steps')
    .select('inFlight')
    .where('runId', '=', runId)
    .where('step', '=', step)
    .where('toolCallId', 'is', null)
    .where('inFlight', 'is not', null),
);

/** Returns the step's call that has left and is not settled, or null. */
export async function readInFlight(tx: TenantTransaction, { runId, step }: StepOfCall): Promise<CallInFlight | null> {
  const found = await row(tx.em, unsettledCall({ runId, step }));
  return found?.inFlight ?? null;
}

const endedFlight = prepared((p: ParametersOf<StepOfCall & { readonly attempt: number }>) =>
  updateStep(p)
    .set({ inFlight: null })
    .where(({ eb, ref }) => eb(attemptOf(ref('inFlight')), '=', p.attempt)),
);

/** Clears the call of a try that is settled or has never left. Does nothing where no such call is in flight. */
export async function endFlight(tx: TenantTransaction, { runId, step, attempt }: StepOfCall & { readonly attempt: number }): Promise<void> {
  await queueStatement(tx.em, endedFlight({ runId, step, attempt }));
}

const generatedFrames = prepared(({ runId, mark }: ParametersOf<{ readonly runId: string; readonly mark: string }>) =>
  query
    .selectFrom(['run_frame_chunks as c', sql<{ frame: string }>`unnest(c.frames)`.as<'f'>(sql`f(frame)`)])
    .select('f.frame')
    .where('c.runId', '=', runId)
    .where(sql<boolean>`position(${mark} in f.frame) > 0`)
    .where(sql<boolean>`left(f.frame, 120) ~ '"type":"(message\\.delta|reasoning\\.delta|tool\\.call)"'`),
);

/** Returns the UTF-8 bytes of everything generated for a message, as far as its deltas have been archived: text, reasoning and arguments of calls. */
export async function streamedBytes(tx: TenantTransaction, runId: string, messageId: string): Promise<number> {
  const frames = await rows(tx.em, generatedFrames({ runId, mark: `"message_id":"${messageId}"` }));
  return frames.reduce((sum, { frame }) => sum + Buffer.byteLength(generatedIn(frame)), 0);
}

function generatedIn(text: string): string {
  const frame = parseFrame(text);
  if (frame.type === 'message.delta' || frame.type === 'reasoning.delta') return frame.data.delta;
  return frame.type === 'tool.call' ? (frame.data.args_delta ?? '') : '';
}

/** The try whose call is in flight; null where none is. */
export function attemptOf<C extends CallInFlight | null>(inFlight: Expression<C>) {
  return sql<number | Extract<C, null>>`(${inFlight} ->> 'attempt')::int`;
}
