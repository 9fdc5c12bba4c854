import { followedTime } from '../../../db/database-clock.ts';
import { Failure } from '../../../workflows/contracts/failure.ts';
import type { OutboxMessage } from '../../../workflows/contracts/outbox.ts';
import { linkToRun } from '../../attachments/run-attachments.ts';
import { runCapKey } from '../../../db/billing/budgets/cap-keys.ts';
import { openCaps, type CapDraft } from '../../../db/billing/budgets/caps.ts';
import { newId } from '../../../db/ids.ts';
import { databaseTime } from '../../../db/database-time.ts';
import { appendFrames, stateBatch } from '../../../db/streams/append.ts';
import { frameText, numbered } from '../../../db/streams/frame-text.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { addMessage } from '../input/added-input.ts';
import { cancelLocked } from '../end/cancel-locked.ts';
import {
  delayedStartMessage,
  lockConversation,
  runStartMessage,
  type ConversationRow,
  type QueuePosition,
} from '../../../db/runs/start/conversations.ts';
import { conversationPersonaOf, identityOfNew, insertRun, type InitialWrites, type NewRun } from '../../../db/runs/start/insert-run.ts';
import { answerBusy, policyOf } from './on-busy.ts';
import { limitsOfRun, type StartRun } from '../../../db/runs/start/start-run.ts';
import { readRunRow } from '../../../db/runs/read/run-queries.ts';
import type { RunState } from '../../../db/runs/run-state.ts';
import type { RunRow } from '../../../db/runs/read/run-view.ts';
import { lockConversations, conversationKeyOf } from '../../../db/runs/start/conversation-locks.ts';
import { refuseUnpriced } from './start-prices.ts';
import { refuseUnready } from './start-refusals.ts';
import type { StartedRun } from './start-run.ts';
import { resolveStarts } from './start-target.ts';
import { rowOfNew } from '../../../db/runs/start/started-row.ts';
import { statusFrame } from '../../../db/runs/status-frame.ts';
import { noUsage } from '../../../db/runs/steps/usage-totals.ts';
import type { StartTarget } from '../../../db/runs/start/start-target.ts';

/** Outcomes of starts, and the runs that they ended, as they were before: the caller still has to close the occurrences of these. */
export interface PlacedRuns {
  readonly outcomes: readonly (StartedRun | Failure)[];
  readonly ended: readonly RunState[];
}

/** `startRuns` without closing the occurrences of the scheduled runs that were replaced. */
export async function enqueueRuns(tx: TenantTransaction, starts: readonly StartRun[]): Promise<PlacedRuns> {
  const targets = refuseUnready(starts, await refuseUnpriced(tx, starts, await resolveStarts(tx, starts)));
  const ready = starts.flatMap((start, n) => {
    const target = targets[n];
    return target === undefined || target instanceof Failure ? [] : [{ start, target }];
  });
  const batch: Batch = { tx, now: await clockOf(tx, ready), conversations: await lockConversations(tx, ready), made: [], ended: [] };

  const outcomes: (StartedRun | Failure)[] = [];
  for (const [n, start] of starts.entries()) {
    const target = targets[n];
    if (target === undefined) throw new Error('a start without a target');
    outcomes.push(target instanceof Failure ? target : await orFailure(() => place(batch, start, target)));
  }
  await announce(batch);
  return { outcomes, ended: batch.ended };
}

interface Batch {
  readonly tx: TenantTransaction;
  /** Database time, which decides whether a start is delayed; read only when a start names an instant. */
  readonly now: Date;
  /** Locked; as the starts so far have left them. */
  readonly conversations: Map<string, ConversationRow>;
  /** Written, not announced yet. */
  readonly made: NewRun[];
  readonly ended: RunState[];
}

async function clockOf(tx: TenantTransaction, ready: readonly { readonly start: StartRun }[]): Promise<Date> {
  return ready.some(({ start }) => start.startAfter) ? databaseTime(tx.em) : followedTime(tx.em);
}

async function orFailure(work: () => Promise<StartedRun>): Promise<StartedRun | Failure> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** Places one start: active, queued, delayed or joined. Every refusal comes before the first write. */
async function place(batch: Batch, start: StartRun, target: StartTarget): Promise<StartedRun> {
  const { tx, now, conversations } = batch;
  const at = followedTime(tx.em);
  const session = conversationKeyOf(start, target);
  const conversation = session === null ? null : (conversations.get(session) ?? null);
  if (start.startAfter && start.startAfter > now)
    return write(batch, draftOf(start, target, { conversation, session, at, line: { kind: 'delayed' } }));
  if (conversation === null || conversation.activeRunId === null)
    return write(batch, draftOf(start, target, { conversation, session, at, line: { kind: 'active' } }));

  // The active run may be an earlier start of this batch: its cap has to be written before this start is decided.
  if (start.onBusy !== 'enqueue' && start.onBusy !== 'reject') await announce(batch);
  const answer = await answerBusy(tx, conversation, start.onBusy);
  if (answer.kind === 'steer') {
    await addMessage(tx, answer.run, { ...start.input, attachments: target.attachments });
    return { run: await readRun(tx, answer.run.id), admission: 'steered' };
  }
  const run = draftOf(start, target, { conversation, session, at, line: answer.line });
  const queued = await write(batch, run);
  if (answer.supersedes === null) return queued;

  await announce(batch);
  const runIds = [conversation.activeRunId];
  const cancel = { policy: policyOf(start.onBusy), reason: 'superseded', isSuperseded: true };
  batch.ended.push(...(await cancelLocked(tx, { ...answer.supersedes, runIds }, cancel)));
  const moved = await lockConversation(tx, conversation.id);
  if (session !== null && moved !== null) conversations.set(session, moved);
  return { run: await readRun(tx, run.id), admission: moved?.activeRunId === run.id ? 'started' : 'queued' };
}

interface Placing {
  readonly conversation: ConversationRow | null;
  /** Name of the conversation within the batch; null: no other start can reach it. */
  readonly session: string | null;
  readonly line: QueuePosition;
  readonly at: Date;
}

type Draft = NewRun & Pick<Placing, 'session'>;

function draftOf(start: StartRun, target: StartTarget, { conversation, session, line, at }: Placing): Draft {
  const { attachments } = target;
  return {
    id: start.id ?? newId(),
    messageId: newId(),
    conversation: conversation ?? { id: newId(), activeRunId: null, queueLength: 0, nextQueueNo: 1, turnNo: 0, personaSlug: null },
    isNewConversation: conversation === null,
    line,
    session,
    target,
    start: attachments.length === 0 ? start : { ...start, input: { ...start.input, attachments } },
    personaSlug: start.personaSlug ?? conversation?.personaSlug ?? target.defaultPersonaSlug,
    limits: limitsOfRun(start.limits, target.limits),
    usage: noUsage(start.currency),
    at,
  };
}

async function write({ tx, conversations, made }: Batch, run: Draft): Promise<StartedRun> {
  const { target, conversation, line, session, start } = run;
  const rowScope = { organizationId: target.organizationId, workspaceId: target.workspaceId, conversationId: conversation.id };
  await linkToRun(
    tx,
    { id: run.id, ...rowScope },
    target.attachments.map((ref) => ref.attachment_id),
  );
  await insertRun(tx, run, start.parent ? null : beginningsOf(tx, run));
  made.push(run);
  if (session !== null) conversations.set(session, afterwards(run));
  return { run: rowOfNew(run), admission: line.kind === 'active' ? 'started' : line.kind === 'delayed' ? 'delayed' : 'queued' };
}

/** The conversation as the insert has left it. */
function afterwards(run: NewRun): ConversationRow {
  const { id, line } = run;
  const conversation = { ...run.conversation, personaSlug: conversationPersonaOf(run) ?? run.conversation.personaSlug };
  if (line.kind === 'delayed') return conversation;
  if (line.kind === 'active') return { ...conversation, activeRunId: id, turnNo: conversation.turnNo + 1 };
  return {
    ...conversation,
    queueLength: conversation.queueLength + 1,
    nextQueueNo: conversation.nextQueueNo + (line.isFirst ? 0 : 1),
  };
}

/** Writes the caps of runs written since the last call, and the first frames of children. */
async function announce({ tx, made }: Batch): Promise<void> {
  const runs = made.splice(0);
  await openCaps(tx, runs.flatMap(capOf));
  const children = runs.filter(({ start }) => start.parent);
  await appendFrames(
    tx,
    children.map((run) => stateBatch(identityOfNew(run), [queuedFrame(run)])),
  );
}

function beginningsOf(tx: TenantTransaction, run: NewRun): InitialWrites {
  return { firstFrame: numbered(1, frameText(identityOfNew(run), queuedFrame(run), 1, run.at)), start: startMessageOf(tx, run) };
}

function queuedFrame(run: NewRun) {
  return statusFrame({ status: 'queued', previous: null, queuePosition: positionOf(run) });
}

/** A run with a maximum cost has its own cap. */
function capOf({ id, target, limits, start }: NewRun): CapDraft[] {
  const { organizationId, workspaceId } = target;
  if (limits.max_cost === null) return [];
  return [{ capKey: runCapKey(id), organizationId, workspaceId, limit: limits.max_cost, currency: start.currency }];
}

function startMessageOf(tx: TenantTransaction, { id, line, start, target }: NewRun): OutboxMessage | null {
  if (line.kind === 'line') return null;
  if (start.review) return start.review.wake;
  const startable = { ...target, id, source: start.source };
  return start.startAfter && line.kind === 'delayed'
    ? delayedStartMessage(startable, { startAfter: start.startAfter, correlationId: tx.correlationId })
    : runStartMessage(startable, tx.correlationId);
}

function positionOf({ line }: NewRun): number | null {
  return line.kind === 'line' ? line.position : null;
}

async function readRun(tx: TenantTransaction, runId: string): Promise<RunRow> {
  const run = await readRunRow(tx, runId);
  if (!run) throw new Error('a run that this transaction has locked is gone');
  return run;
}
