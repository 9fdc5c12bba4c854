import { sql } from 'kysely';
import { followedTime } from '../database-clock.ts';
import type { AppendedFrames, TenantTransaction } from '../tenant-transaction.ts';
import { anyId } from '../expressions.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change, queueStatement, row, rows } from '../sql.ts';
import { noDiscarded, stillRunning } from './append-frames.sql.ts';
import { frameText, isAdvisory, numbered, numberedCopy, type RunIdentity } from './frame-text.ts';
import type { FrameDraft, RetryCause } from './frame.schema.ts';

/** Why a new attempt writes, for the announcement put before its first batch. */
export interface RetryNotice {
  readonly cause: RetryCause;
  readonly errorCode: string | null;
  readonly delayMs: number;
}

/**
 * Frames of one run, written as one unit. Scope: `s<step>` for a model call, `c:<tool_call_id>` for a tool call, null for a state change (which its row
 * guards). `attempt` is the row's count; `batch` counts 1, 2, 3 … within the attempt.
 */
export interface FrameBatch {
  readonly run: RunIdentity;
  readonly scope: string | null;
  readonly attempt: number;
  readonly batch: number;
  readonly frames: readonly FrameDraft[];
  /** The messages that begin or complete with this batch, and whether it ends the stream; derived from the frames when absent. */
  readonly opens?: readonly string[];
  readonly completes?: readonly string[];
  readonly ends?: boolean;
  readonly retry?: RetryNotice | null;
}

/** `ended` and `fenced` write nothing; `repeat` was written before and has its original numbers (null when later batches followed). */
export interface AppendAnswer {
  readonly result: 'ok' | 'ended' | 'fenced' | 'repeat';
  readonly firstSeq: number | null;
  readonly lastSeq: number | null;
  readonly isCancelRequested: boolean;
}

/** A batch with its texts built: the input of `append_frames`, repeated byte for byte when an append is retried. */
export interface EncryptedBatch {
  readonly run: RunIdentity;
  readonly texts: readonly string[];
  readonly advisory: readonly boolean[];
  readonly payload: string;
}

/** The answer of `append_frames` for one batch. */
export interface RawAnswer {
  readonly result: AppendAnswer['result'];
  readonly first?: number | null;
  readonly last?: number | null;
  readonly cancel: boolean;
  readonly front?: string | null;
  readonly copy_first?: number | null;
}

/** Returns a batch of a state change: it has no scope, since the row that the transaction has locked guards it. */
export function stateBatch(run: RunIdentity, frames: readonly FrameDraft[]): FrameBatch {
  return { run, scope: null, attempt: 1, batch: 0, frames };
}

export interface StreamState {
  readonly headSeq: number;
  readonly isEnded: boolean;
  readonly isCancelRequested: boolean;
}

const lockedStreams = prepared(({ runIds }: ParametersOf<{ readonly runIds: readonly string[] }>) =>
  query
    .selectFrom('run_streams')
    .select(['runId', 'headSeq', 'ended', 'cancelRequested'])
    .where(
      sql<boolean>`run_id = any (array(
        select root_run_id from run_streams where run_id = any (${runIds}::uuid[]) union all select unnest(${runIds}::uuid[])))`,
    )
    .orderBy('runId')
    .forNoKeyUpdate(),
);

/**
 * Locks the streams of runs and of their roots by ascending id, the order of every append. A transaction calls this first if it must know a number before
 * it appends (`run.finished` contains its own) or if it appends to several runs.
 */
export async function lockStreams(tx: TenantTransaction, runIds: readonly string[]): Promise<Map<string, StreamState>> {
  const locked = await rows(tx.em, lockedStreams({ runIds }));
  return new Map(locked.map((row) => [row.runId, { headSeq: row.headSeq, isEnded: row.ended, isCancelRequested: row.cancelRequested }]));
}

const cancelledStreams = prepared(({ runIds }: ParametersOf<{ readonly runIds: readonly string[] }>) =>
  query
    .updateTable('run_streams')
    .set(({ ref }) => ({ cancelRequested: true, updatedAt: ref('updatedAt') }))
    .where('runId', '=', anyId(runIds))
    .where('ended', '=', sql.lit(false)),
);

/** Marks runs as to be cancelled, so that the next append of any of their activities reports it, and notifies their activities after the commit. */
export async function requestStreamCancel(tx: TenantTransaction, runIds: readonly string[]): Promise<void> {
  await lockStreams(tx, runIds);
  await change(tx.em, cancelledStreams({ runIds }));
  tx.outgoing.cancelledRunIds.push(...runIds);
}

const appended = prepared(({ payload }: ParametersOf<{ readonly payload: string }>) =>
  query.selectNoFrom(sql<RawAnswer[]>`append_frames(${payload}::jsonb, 5000)`.as('answers')),
);

/**
 * Appends frames as part of a transaction: one statement for all batches, sent with the next one; the written frames are published after the commit. The
 * lock order is conversation, runs, run_streams: nothing else may be locked afterwards.
 */
export async function appendFrames(tx: TenantTransaction, batches: readonly FrameBatch[]): Promise<void> {
  if (batches.length === 0) return;
  const sealed = sealAll(tx, batches);
  await queueStatement(tx.em, appended({ payload: payloadOf(sealed) }), [], ([row]) => letOut(tx, sealed, row?.answers ?? []));
}

/** Like `appendFrames`, but appends at once, for callers that need the result: returns one answer per batch. */
export async function appendFramesNow(tx: TenantTransaction, batches: readonly FrameBatch[]): Promise<AppendAnswer[]> {
  const sealed = sealAll(tx, batches);
  const answers = (await row(tx.em, appended({ payload: payloadOf(sealed) })))?.answers ?? [];
  letOut(tx, sealed, answers);
  return answers.map(toAnswer);
}

function letOut(tx: TenantTransaction, sealed: readonly EncryptedBatch[], answers: readonly RawAnswer[]): void {
  // The texts of a repeat were built again, at another time: readers find the original ones in the archive.
  const fresh = answers.map((answer) => (answer.result === 'ok' ? answer : { ...answer, first: null }));
  tx.outgoing.frames.push(...appendedFrames(sealed, fresh));
}

function sealAll(tx: TenantTransaction, batches: readonly FrameBatch[]): EncryptedBatch[] {
  const at = followedTime(tx.em);
  return batches.map((batch) => encryptBatch(batch, at));
}

/** Builds the texts of a batch. */
export function encryptBatch(batch: FrameBatch, at: Date): EncryptedBatch {
  const { run, frames } = batch;
  const texts = frames.map((draft) => frameText(run, draft, batch.attempt, at));
  const advisory = frames.map(isAdvisory);
  const needsAnnouncement = batch.attempt > 1 && batch.scope?.startsWith('s');
  const payload = JSON.stringify({
    run: run.runId,
    workspace: run.workspaceId,
    scope: batch.scope,
    attempt: batch.attempt,
    batch: batch.batch,
    texts,
    advisory,
    opens: batch.opens ?? opensOf(frames),
    completes: batch.completes ?? completesOf(frames),
    ends: batch.ends ?? frames.some((draft) => draft.type === 'run.finished'),
    front: needsAnnouncement ? announcement(batch, at) : null,
  });
  return { run, texts, advisory, payload };
}

/** Returns the argument of `append_frames` for these batches. */
export function payloadOf(sealed: readonly EncryptedBatch[]): string {
  return `[${sealed.map((batch) => batch.payload).join(',')}]`;
}

/** Returns the written frames, complete and numbered, by run: those of the run's own stream and the copies on its root's. */
export function appendedFrames(sealed: readonly EncryptedBatch[], answers: readonly RawAnswer[]): AppendedFrames[] {
  const written: AppendedFrames[] = [];
  answers.forEach((answer, index) => {
    const batch = sealed[index];
    if (batch === undefined || answer.first === undefined || answer.first === null) return;
    if (answer.result !== 'ok' && !isWholeRepeat(answer, batch)) return;

    const texts = answer.front ? [answer.front, ...batch.texts] : batch.texts;
    const advisory = answer.front ? [false, ...batch.advisory] : batch.advisory;
    const first = answer.first;
    if (texts.length > 0)
      written.push({ runId: batch.run.runId, firstSeq: first, frames: texts.map((text, n) => numbered(first + n, text)) });
    if (answer.copy_first)
      written.push({
        runId: batch.run.rootRunId,
        firstSeq: answer.copy_first,
        frames: copiesOf(texts, advisory, first, answer.copy_first),
      });
  });
  return written;
}

export function toAnswer(answer: RawAnswer): AppendAnswer {
  return { result: answer.result, firstSeq: answer.first ?? null, lastSeq: answer.last ?? null, isCancelRequested: answer.cancel };
}

// An append whose answer was lost may not have been published. If an announcement precedes it, readers find it in the archive.
function isWholeRepeat(answer: RawAnswer, batch: EncryptedBatch): boolean {
  return answer.result === 'repeat' && answer.last === (answer.first ?? 0) + batch.texts.length - 1;
}

function copiesOf(texts: readonly string[], advisory: readonly boolean[], first: number, copyFirst: number): string[] {
  const copies: string[] = [];
  texts.forEach((text, n) => {
    if (!advisory[n]) copies.push(numberedCopy(copyFirst + copies.length, first + n, text));
  });
  return copies;
}

/**
 * Returns the text of a new attempt's run.status frame. `append_frames` fills in the messages that the lost attempt left open, and `cancelling` if a cancel
 * came first.
 */
function announcement(batch: FrameBatch, at: Date): string {
  const retry = batch.retry ?? { cause: 'worker_lost', errorCode: null, delayMs: 0 };
  const draft: FrameDraft = {
    type: 'run.status',
    data: {
      status: 'running',
      previous: 'running',
      waiting_on: null,
      waiting_until: null,
      queue_position: null,
      reason: null,
      attempt: batch.attempt,
      retry: { cause: retry.cause, error_code: retry.errorCode, delay_ms: retry.delayMs },
      discarded_message_ids: [],
    },
  };
  const text = frameText(batch.run, draft, batch.attempt, at);
  if (!text.includes(noDiscarded) || !text.includes(stillRunning)) throw new Error('the announcement lost its places');
  return text;
}

function opensOf(frames: readonly FrameDraft[]): string[] {
  const ids = new Set<string>();
  for (const draft of frames) if (draft.type === 'message.delta' || draft.type === 'reasoning.delta') ids.add(draft.data.message_id);
  return [...ids];
}

function completesOf(frames: readonly FrameDraft[]): string[] {
  return frames.flatMap((draft) => (draft.type === 'message.completed' ? [draft.data.message_id] : []));
}
