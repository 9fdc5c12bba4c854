import { nextCommand } from '../../db/code-review/posts/command-state.ts';
import { insertCommand, withdrawCommands } from '../../db/code-review/posts/commands.ts';
import { followThread, isOurReview } from '../../db/code-review/findings/person-findings.ts';
import {
  liveReviews,
  lockPull,
  queuedEvents,
  readBindingState,
  settleEvents,
  storePull,
  type BindingState,
  type LiveReview,
  type PullState,
  type QueuedEvent,
} from '../../db/code-review/pulls/pulls.ts';
import { cancelAndClose } from '../runs/end/cancel-run.ts';
import { lockForCancel } from '../runs/end/cancel-locked.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { PullRequestInput, PullRequestStep } from '../../workflows/contracts/review/pull-requests.ts';
import { draftOf, judgeEvent, type EventEffect, type PullDraft } from './judge-event.ts';
import { startedByPlatform, startReview, type ReviewAsk } from './start-review.ts';

const maxEvents = 100;
/** The longest wait while a run is working, after which a lost signal is made up for. */
const maxWaitMs = 3_600_000;

/** Input of one check by a pull request's workflow. `runId`: the child workflow that is working. */
export interface ApplyEvents extends PullRequestInput {
  readonly runId: string | null;
  readonly currency: string;
}

/**
 * Applies the queued events of a pull request, in their order, in one transaction, and returns the next step. A repeat finds the events applied. Cancels
 * reviews of an older head, and all runs of a pull request that is closed or no longer reviewed.
 */
export async function applyEvents(
  tx: TenantTransaction,
  { bindingId, pullNumber, runId, currency }: ApplyEvents,
): Promise<PullRequestStep> {
  const binding = await readBindingState(tx, bindingId);
  if (binding === null) return { kind: 'end' };
  const pull = await lockPull(tx, binding, pullNumber);
  const events = await queuedEvents(tx, pull, maxEvents);
  const { draft, reviews } = binding.isReviewed ? await applyAll(tx, { binding, pull, events }) : await dropAll(tx, { pull, events });

  const superseded = await cancelOutdated(tx, { binding, pull, draft });
  const isDueFull = draft.isDueFull || superseded.some(({ request }) => request.is_automatic && request.full);
  let dueInMs = await storePull(tx, pull.id, { ...draft, isDueFull });
  for (const asked of [...reviews, ...superseded.flatMap(askedAnew)])
    if (await startAsked(tx, { binding, pull: { ...pull, headSha: draft.headSha }, asked, currency })) dueInMs = null;
  const live = await liveReviews(tx, pull.id);
  if (runId !== null && live.some(({ id }) => id === runId)) return { kind: 'wait', waitMs: maxWaitMs };
  if (events.length === maxEvents) return { kind: 'again' };

  if (!binding.isReviewed) return nextRun(live) ?? { kind: 'end' };
  const commandId = await nextCommand(tx, pull.id);
  if (commandId !== null) return { kind: 'command', commandId };
  const started = nextRun(live);
  if (started !== null) return started;
  if (dueInMs === null) return { kind: 'end' };
  if (dueInMs > 0) return { kind: 'wait', waitMs: Math.ceil(dueInMs) };
  return { kind: draft.state === 'closed' ? 'reactions' : 'open' };
}

interface Applying {
  readonly binding: BindingState;
  readonly pull: PullState;
  readonly events: readonly QueuedEvent[];
}

interface Applied {
  readonly draft: PullDraft;
  /** Reviews and repairs that were requested on their own. */
  readonly reviews: readonly AskedReview[];
}

type AskedEffect = Extract<EventEffect, { readonly kind: 'review' | 'fix' }>;

/** A run that a person requested. */
interface AskedReview {
  readonly request: ReviewAsk;
  readonly text: string | null;
}

async function applyAll(tx: TenantTransaction, { binding, pull, events }: Applying): Promise<Applied> {
  let draft = draftOf(pull);
  const reviews: AskedReview[] = [];
  const settled: Parameters<typeof settleEvents>[1][number][] = [];
  for (const event of events) {
    const judged = judgeEvent({ pull: draft, lastHeadSha: pull.lastHeadSha, binding }, event);
    draft = judged.pull;
    for (const effect of judged.effects) {
      if (effect.kind === 'review' || effect.kind === 'fix') reviews.push(askedBy(effect));
      else if (await follow(tx, { binding, pull, event, headSha: draft.headSha }, effect)) draft = { ...draft, isBlockDismissed: true };
    }
    settled.push({ id: event.id, state: judged.reason === null ? 'applied' : 'ignored', reason: judged.reason });
  }
  await settleEvents(tx, settled);
  return { draft, reviews };
}

async function dropAll(tx: TenantTransaction, { pull, events }: Pick<Applying, 'pull' | 'events'>): Promise<Applied> {
  await settleEvents(
    tx,
    events.map(({ id }) => ({ id, state: 'ignored' as const, reason: 'binding_inactive' })),
  );
  return { draft: { ...draftOf(pull), due: { kind: 'none' }, isDueFull: false }, reviews: [] };
}

interface Following {
  readonly binding: BindingState;
  readonly pull: PullState;
  readonly event: QueuedEvent;
  readonly headSha: string | null;
}

/** Applies an effect beyond the pull request's own row. Returns true when no later review may request changes. */
async function follow(
  tx: TenantTransaction,
  { binding, pull, event: { facts }, headSha }: Following,
  effect: Exclude<EventEffect, AskedEffect>,
): Promise<boolean> {
  switch (effect.kind) {
    case 'none':
      return false;
    case 'command': {
      const { id: commentId, kind: commentKind, in_reply_to: inReplyTo, command } = effect.comment;
      if (command === null) return false;
      const place = { id: pull.id, organizationId: binding.organizationId, workspaceId: binding.workspaceId };
      const { name, argument, text_sha256: textSha256 } = command;
      await insertCommand(tx, place, {
        commentId,
        commentKind,
        inReplyTo,
        command: name,
        argument,
        textSha256,
        sender: facts.sender ?? '',
      });
      return false;
    }
    case 'withdraw':
      await cancelQueued(tx, await withdrawCommands(tx, pull.id, effect));
      return false;
    case 'thread':
      await followThread(
        tx,
        { pullId: pull.id, headSha },
        { isResolved: effect.isResolved, threadId: facts.thread_node_id ?? null, commentIds: facts.comment_ids ?? [] },
      );
      return false;
    case 'dismissal':
      return isOurReview(tx, pull.id, effect.reviewId);
    default:
      return effect satisfies never;
  }
}

function askedBy(effect: AskedEffect): AskedReview {
  const full = effect.kind === 'review' && effect.full;
  return { request: { kind: effect.kind, full, post: true, is_automatic: false, command_id: null, finding_id: null }, text: null };
}

/** A review that a person requested, and that a newer head has superseded, is requested again for that head. */
function askedAnew({ request: { pull_number: _pull, has_text: hasText, ...request }, text }: LiveReview): AskedReview[] {
  return request.is_automatic ? [] : [{ request, text: hasText ? text : null }];
}

/** Cancels runs that are no longer wanted; returns the reviews whose head is not the newest. */
async function cancelOutdated(
  tx: TenantTransaction,
  { binding, pull, draft }: { readonly binding: BindingState; readonly pull: PullState; readonly draft: PullDraft },
): Promise<readonly LiveReview[]> {
  const live = await liveReviews(tx, pull.id);
  const open = live.filter(({ status }) => status !== 'cancelling');
  const isOver = !binding.isReviewed || draft.state === 'closed';
  const isDraft = draft.isDraft && !binding.reviewConfig.drafts;
  const ended = open.filter(({ request }) => isOver || (isDraft && request.is_automatic));
  const superseded = open.filter((run) => !ended.includes(run) && isSuperseded(run, draft));
  await cancelRuns(tx, ended, false);
  await cancelRuns(tx, superseded, true);
  return superseded;
}

/** A fix checks its head itself, and a question is answered whatever the head. A run without a known head reads the newest. */
function isSuperseded({ headSha, request }: LiveReview, { headSha: newest }: PullDraft): boolean {
  return request.kind === 'review' && headSha !== null && newest !== null && headSha !== newest;
}

async function cancelRuns(tx: TenantTransaction, runs: readonly LiveReview[], isSuperseded: boolean): Promise<void> {
  if (runs.length === 0) return;
  const runIds = runs.map(({ id }) => id);
  const locked = await lockForCancel(tx, runIds);
  await cancelAndClose(tx, { ...locked, runIds }, { policy: 'interrupt', reason: isSuperseded ? 'superseded' : null, isSuperseded });
}

/** Cancels the runs of withdrawn commands, unless they have begun. */
async function cancelQueued(tx: TenantTransaction, runIds: readonly string[]): Promise<void> {
  if (runIds.length === 0) return;
  const locked = await lockForCancel(tx, runIds);
  const queued = locked.runs.filter(({ id, status }) => runIds.includes(id) && status === 'queued').map(({ id }) => id);
  await cancelAndClose(tx, { ...locked, runIds: queued }, { policy: 'interrupt', reason: null });
}

interface Starting {
  readonly binding: BindingState;
  readonly pull: PullState;
  readonly asked: AskedReview;
  readonly currency: string;
}

/** Starts a requested run. Returns true when it also covers the review that was due. A refusal (no agent, a full budget) is final: nothing waits for it. */
async function startAsked(tx: TenantTransaction, { binding, pull, asked, currency }: Starting): Promise<boolean> {
  try {
    await startReview(tx, { binding, pull, ...asked, by: startedByPlatform(currency) });
    return asked.request.kind === 'review';
  } catch (error) {
    if (!(error instanceof Failure) || error.retryable) throw error;
    return false;
  }
}

function nextRun(live: readonly LiveReview[]): Extract<PullRequestStep, { kind: 'run' }> | null {
  const [first] = live;
  return first ? { kind: 'run', runId: first.id } : null;
}

/** Starts the review that is due, and returns its id; null when none is due any more, or it was refused. A repeat finds the run that was started. */
export async function openReviewRun(
  tx: TenantTransaction,
  { bindingId, pullNumber, currency }: PullRequestInput & { readonly currency: string },
): Promise<string | null> {
  const binding = await readBindingState(tx, bindingId);
  if (binding === null || !binding.isReviewed) return null;
  const pull = await lockPull(tx, binding, pullNumber);
  const [live] = await liveReviews(tx, pull.id);
  if (live) return live.id;
  if (pull.dueInMs === null || pull.dueInMs > 0 || pull.state === 'closed') return null;
  const request = { kind: 'review', full: pull.isDueFull, post: true, is_automatic: true, command_id: null, finding_id: null } as const;
  try {
    const { run } = await startReview(tx, { binding, pull, request, text: null, by: startedByPlatform(currency) });
    return run.id;
  } catch (error) {
    if (!(error instanceof Failure) || error.retryable) throw error;
    await storePull(tx, pull.id, { ...draftOf(pull), due: { kind: 'none' }, isDueFull: false });
    return null;
  }
}
