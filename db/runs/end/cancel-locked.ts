import { followedTime } from '../../database-clock.ts';
import { workflowIds } from '../../../workflows/contracts/queues.ts';
import { cancelApprovals } from '../../approvals/cancel-approvals.ts';
import { closeRunCaps } from '../../billing/caps.ts';
import { addOutboxAll, withdrawStarts } from '../../outbox.ts';
import { rows } from '../../sql.ts';
import { appendFrames, lockStreams, requestStreamCancel, stateBatch } from '../../streams/append.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { activateNext, lockConversationsOfRuns, type ConversationRow } from '../start/conversations.ts';
import { measureEnd } from './measure-run.ts';
import { finishedFrame } from '../run-frames.ts';
import { identityOf, lockRunsWithTrees, type RunState } from '../run-state.ts';
import type { CancelPolicy } from '../read/run-view.ts';
import { statusFrame } from '../status-frame.ts';
import { settleStatuses } from '../waiting.ts';

/** How runs are to end. */
export interface Cancel {
  readonly policy: CancelPolicy;
  readonly reason: string | null;
  /** A run of the same conversation takes their place: they end as superseded. */
  readonly isSuperseded?: boolean;
}

/** Runs with all that their cancel has to hold. */
export interface LockedForCancel {
  readonly conversations: readonly ConversationRow[];
  /** The runs that were asked for, their live descendants, and the ancestors of both, by ascending id. */
  readonly runs: readonly RunState[];
}

/** Locks the conversations of runs, then the runs with their trees, each by ascending id. What is not there is left out. */
export async function lockForCancel(tx: TenantTransaction, runIds: readonly string[]): Promise<LockedForCancel> {
  const conversations = await lockConversationsOfRuns(tx, runIds);
  return { conversations, runs: conversations.length === 0 ? [] : await lockRunsWithTrees(tx, runIds) };
}

/**
 * Ends or asks to end every live run among `runIds` and below them, all in the same few statements. Those that are cancelling or over are left alone.
 * Gives the runs that ended here, as they were before: what hangs on their end (`followRunEnd`) is the caller's.
 */
export async function cancelLocked(
  tx: TenantTransaction,
  locked: LockedForCancel & { readonly runIds: readonly string[] },
  cancel: Cancel,
): Promise<readonly RunState[]> {
  const asked = new Set(locked.runIds);
  const meant = locked.runs.filter((run) => asked.has(run.id) || run.lineage.some((id) => asked.has(id)));
  const queued = meant.filter((run) => run.status === 'queued');
  const working = meant.filter((run) => run.status === 'running' || run.status === 'waiting');

  const finishedAt = followedTime(tx.em);
  if (queued.length > 0) await writeEnds(tx, queued, { ...cancel, finishedAt });
  await closeRunCaps(tx, queued);
  // Streams are locked by ascending id too: all of both kinds before the first is written.
  if (queued.length > 0 && working.length > 0)
    await lockStreams(
      tx,
      [...queued, ...working].map((run) => run.id),
    );
  if (working.length > 0) await requestCancel(tx, working, cancel);
  if (working.some((run) => run.lineage.length > 0)) await settleAbove(tx, locked.runs, meant);
  if (queued.length === 0) return [];

  await withdrawStarts(
    tx,
    queued.flatMap(({ id }) => [workflowIds.run(id), workflowIds.delayedStart(id)]),
  );
  await announceEnds(tx, queued, { ...cancel, finishedAt });
  const ended = new Set(queued.map((run) => run.id));
  const left = locked.conversations.filter(({ active_run_id: active }) => active !== null && ended.has(active)).map(({ id }) => id);
  for (const id of left.length > 1 ? await withoutFreed(tx, left) : left) await activateNext(tx, id);
  await cancelDelayedStarts(tx, queued);
  return queued;
}

/** Frees the conversations in whose line nobody stands, all at once; gives the others. */
async function withoutFreed(tx: TenantTransaction, conversationIds: readonly string[]): Promise<string[]> {
  const freed = await rows<{ id: string }>(
    tx.em,
    `update conversations c set active_run_id = null, queue_length = 0
      where c.id = any (?::uuid[]) and not exists (select from runs q where q.conversation_id = c.id and q.status = 'queued' and q.queue_no is not null)
      returning c.id`,
    [[...conversationIds]],
  );
  const ids = new Set(freed.map(({ id }) => id));
  return conversationIds.filter((id) => !ids.has(id));
}

/** What was to start later need not be waited for; a workflow that has done its work is not there any more. */
async function cancelDelayedStarts(tx: TenantTransaction, ended: readonly RunState[]): Promise<void> {
  const delayed = ended.filter((run) => run.start_after !== null).map(({ id }) => workflowIds.delayedStart(id));
  await addOutboxAll(
    tx,
    delayed.map((workflowId) => ({
      message: { kind: 'workflow.cancel', workflowId },
      dedupeKey: workflowId,
    })),
  );
}

/** Runs above those that are cancelled: what they waited for down there is over. */
async function settleAbove(tx: TenantTransaction, runs: readonly RunState[], meant: readonly RunState[]): Promise<void> {
  const ids = new Set(meant.map((run) => run.id));
  const above = runs.filter((run) => !ids.has(run.id) && meant.some((one) => one.lineage.includes(run.id)));
  if (above.length > 0) await settleStatuses(tx, above);
}

async function requestCancel(tx: TenantTransaction, runs: readonly RunState[], cancel: Cancel): Promise<void> {
  const ids = runs.map((run) => run.id);
  await rows(
    tx.em,
    `update runs set status = 'cancelling', waiting_on = null, waiting_until = null, waiting_since = null,
            waited_ms = waited_ms + coalesce((extract(epoch from now() - waiting_since) * 1000)::bigint, 0),
            cancel_policy = ?, is_superseded = ?, cancel_requested_at = now(), updated_at = now()
      where id = any (?::uuid[]) and status in ('running', 'waiting')`,
    [cancel.policy, cancel.isSuperseded ?? false, ids],
  );
  const answers = await cancelApprovals(tx, runs);
  await requestStreamCancel(tx, ids);
  await appendFrames(
    tx,
    runs.map((run) => {
      const change = statusFrame({ status: 'cancelling', previous: run.status, reason: cancel.reason });
      return stateBatch(identityOf(run), [...(answers.get(run.id) ?? []), change]);
    }),
  );
  await addOutboxAll(
    tx,
    ids.map(workflowIds.run).map((workflowId) => ({ message: { kind: 'workflow.cancel', workflowId }, dedupeKey: workflowId })),
  );
}

interface End extends Cancel {
  readonly finishedAt: Date;
}

/** No work has begun: the runs end with their messages discarded. */
async function writeEnds(tx: TenantTransaction, runs: readonly RunState[], cancel: End): Promise<void> {
  const ids = runs.map((run) => run.id);
  await rows(
    tx.em,
    `with discarded as (
       update messages set state = 'discarded' where run_id = any (?::uuid[]) and state = 'pending'
     ), left_line as (
       update conversations c set queue_length = greatest(0, c.queue_length - l.left) from (
         select q.conversation_id, count(*)::int as left from runs q where q.id = any (?::uuid[]) and q.status = 'queued' and q.queue_no is not null group by 1) l
        where c.id = l.conversation_id
     )
     update runs set status = 'cancelled', finish_reason = ?, is_superseded = ?, finished_at = ?::timestamptz, cancel_policy = ?,
            cancel_requested_at = ?::timestamptz, queue_no = null, updated_at = ?::timestamptz
      where id = any (?::uuid[]) and status = 'queued'`,
    [
      ids,
      ids,
      finishReasonOf(cancel),
      cancel.isSuperseded ?? false,
      cancel.finishedAt,
      cancel.policy,
      cancel.finishedAt,
      cancel.finishedAt,
      ids,
    ],
  );
}

async function announceEnds(tx: TenantTransaction, runs: readonly RunState[], cancel: End): Promise<void> {
  const streams = await lockStreams(
    tx,
    runs.map((run) => run.id),
  );
  await appendFrames(
    tx,
    runs.map((run) => {
      const end = {
        status: 'cancelled',
        finishReason: finishReasonOf(cancel),
        output: null,
        error: null,
        finishedAt: cancel.finishedAt,
        lastSeq: (streams.get(run.id)?.headSeq ?? 0) + 1,
        usage: { own: run.usage_own, subtree: run.usage_subtree },
      } as const;
      measureEnd(tx, run, end);
      return stateBatch(identityOf(run), [finishedFrame(run, end)]);
    }),
  );
}

function finishReasonOf({ isSuperseded }: Cancel): 'superseded' | 'cancelled' {
  return isSuperseded === true ? 'superseded' : 'cancelled';
}
