import { fail } from '../../../workflows/contracts/failure.ts';
import { isTerminal } from '../../../workflows/contracts/runs/runs.ts';
import { newId } from '../../../db/ids.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { lockConversationOfRun } from '../../../db/runs/start/conversations.ts';
import { forkedConversation, inputOfMessage, readFork } from './fork.ts';
import { limitsOfRun, type RunLimitsDraft, type StartRun } from '../../../db/runs/start/start-run.ts';
import type { OnBusy } from '../../../db/runs/read/run-view.ts';
import { agentInactive } from './start-target.ts';
import { startRun, type StartedRun } from './start-run.ts';
import { copyMessages, type ForkPoint } from '../../../db/runs/start/fork-rows.ts';
import { type EndedRun, readEnded, hasMovedOn, usableFiles, discardTurn } from '../../../db/runs/start/retry-rows.ts';

/** How a run is retried. */
export interface RetryAsk {
  /** `pinned`: the revision that the run used. */
  readonly revision: 'pinned' | 'current';
  /** Null: the retry stays in the run's conversation and replaces its turn. */
  readonly fork: {
    readonly messageId: string;
    /** Null: the input of that message. */
    readonly input: { readonly text?: string; readonly json?: Record<string, unknown>; readonly attachmentIds: readonly string[] } | null;
    readonly sessionKey: string | null;
  } | null;
  /** Override those that the run was started with. */
  readonly limits: RunLimitsDraft;
  readonly onBusy: OnBusy;
}

/** Who starts the retry, in the fields of every start. */
export type RetryStarter = Pick<StartRun, 'source' | 'createdBy' | 'currency' | 'pricing' | 'starter'>;

/**
 * Retries a run that has ended. Without a fork the new run replaces the old one's turn, which has to be the conversation's last and is discarded when the new
 * run begins; with a fork it continues from a message, in a conversation of its own with copies of the earlier messages. Throws 404, 409 `run_not_finished`,
 * `not_a_root_run`, `conversation_moved_on`, `agent_inactive`, `already_exists` for a used session key, 422 for a message that can't be forked at, and what
 * `startRun` throws.
 */
export async function retryRun(
  tx: TenantTransaction,
  { runId, ask, by }: { readonly runId: string; readonly ask: RetryAsk; readonly by: RetryStarter },
): Promise<StartedRun> {
  const conversation = await lockConversationOfRun(tx, runId);
  const run = conversation ? await readEnded(tx, runId) : null;
  if (!run) throw fail('not_found');
  if (!isTerminal(run.status)) throw fail('state_conflict', { reason: 'run_not_finished', detail: 'The run has not ended yet.' });
  if (run.bindingId !== null)
    throw fail('state_conflict', {
      reason: 'is_review',
      detail: 'A review cannot be retried. Start another review of the pull request instead.',
    });
  if (!run.hasAgent) throw agentInactive();
  return ask.fork === null ? replaceTurn(tx, run, { ask, by }) : forkAt(tx, run, { fork: ask.fork, ask, by });
}

async function replaceTurn(
  tx: TenantTransaction,
  run: EndedRun,
  { ask, by }: { readonly ask: RetryAsk; readonly by: RetryStarter },
): Promise<StartedRun> {
  // The parent run has already used this turn.
  if (run.parentRunId !== null)
    throw fail('state_conflict', { reason: 'not_a_root_run', detail: 'A sub-agent’s run can be forked, but not retried.' });
  if (await hasMovedOn(tx, run))
    throw fail('state_conflict', { reason: 'conversation_moved_on', detail: 'The conversation has continued since. Fork it instead.' });

  const { attachments = [], ...input } = run.input;
  return startRun(tx, {
    ...startOf(run, ask, by),
    sessionKey: run.sessionKey,
    input,
    attachmentIds: await usableFiles(tx, attachments),
    continued: { conversationId: run.conversationId, retryOfRunId: run.id },
  });
}

interface Forking {
  readonly fork: NonNullable<RetryAsk['fork']>;
  readonly ask: RetryAsk;
  readonly by: RetryStarter;
}

async function forkAt(tx: TenantTransaction, run: EndedRun, { fork, ask, by }: Forking): Promise<StartedRun> {
  const point = await readFork(tx, run, fork.messageId);
  const { attachmentIds, ...input } = fork.input ?? (await askedAt(tx, point));
  const conversationId = await forkedConversation(tx, run, { sessionKey: fork.sessionKey, turns: point.turns });
  const id = newId();
  const started = await startRun(tx, {
    ...startOf(run, ask, by),
    id,
    sessionKey: fork.sessionKey,
    input,
    attachmentIds,
    continued: { conversationId, retryOfRunId: run.id, forkedAtMessageId: fork.messageId, firstPos: point.copied.length },
  });
  await copyMessages(tx, { id, conversationId, organizationId: run.organizationId, workspaceId: run.workspaceId }, point.copied);
  return started;
}

/** The input of the message, to be asked again. */
async function askedAt(tx: TenantTransaction, point: ForkPoint) {
  const { attachments = [], ...input } = inputOfMessage(point);
  return { ...input, attachmentIds: await usableFiles(tx, attachments) };
}

/** What both kinds of retry take from the old run. */
function startOf(run: EndedRun, ask: RetryAsk, by: RetryStarter) {
  const { subjectKind: kind, subjectId: id } = run;
  return {
    ...by,
    workspaceId: run.workspaceId,
    defaultWorkspaceId: null,
    agent: { id: run.agentId },
    revisionId: ask.revision === 'pinned' ? run.agentRevisionId : null,
    personaSlug: run.personaSlug,
    subject: kind === null || id === null ? null : { kind, id },
    onBusy: ask.onBusy,
    limits: { ...askedLimits(run), ...ask.limits },
    metadata: run.metadata,
    // A retry may do no more than the run was allowed, and its input is trusted no more than before.
    cause: {
      rootEventId: run.rootEventId,
      eventDepth: run.eventDepth,
      untrusted: run.untrusted,
      maxEffect: run.maxEffect,
      hops: run.hops,
    },
  };
}

/** The limits that the run was started with, without those of its revision: another revision has its own. */
function askedLimits({ limits, revisionLimits: revision }: EndedRun): RunLimitsDraft {
  const own = limitsOfRun({}, revision);
  return Object.fromEntries(Object.entries(limits).filter(([name, value]) => Reflect.get(own, name) !== value));
}

/**
 * Discards the turn that a run replaces, when the run begins: the turn stays readable with the old run but is in no prompt any more. A fork replaces nothing,
 * since it has a conversation of its own. Sends no statement for a run that is no retry.
 */
export async function discardReplaced(
  tx: TenantTransaction,
  run: { readonly retry_of_run_id: string | null; readonly conversation_id: string },
): Promise<void> {
  if (run.retry_of_run_id === null) return;
  await discardTurn(tx, { runId: run.retry_of_run_id, conversationId: run.conversation_id });
}
