import { fail } from '../../../workflows/contracts/failure.ts';
import { isTerminal, type RunStatus } from '../../../workflows/contracts/runs.ts';
import type { RevisionLimits } from '../../agents/revision-limits.ts';
import { newId } from '../../ids.ts';
import { row, rows } from '../../sql.ts';
import type { AttachmentPart } from '../../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { lockConversationOfRun } from './conversations.ts';
import { copyMessages, forkedConversation, inputOfMessage, readFork, type ForkPoint } from './fork.ts';
import { limitsOfRun, type RunLimitsDraft } from './run-limits.ts';
import type { RunLimits } from '../run-types.ts';
import type { OnBusy, RunInput } from '../read/run-view.ts';
import { agentInactive } from './start-target.ts';
import { startRun, type StartedRun, type StartRun } from './start-run.ts';

/** How a run is asked again. */
export interface RetryAsk {
  /** `pinned`: the revision that it used. */
  readonly revision: 'pinned' | 'current';
  /** Null: in its own conversation, in place of its turn. */
  readonly fork: {
    readonly messageId: string;
    /** Null: what that message asked. */
    readonly input: { readonly text?: string; readonly json?: Record<string, unknown>; readonly attachmentIds: readonly string[] } | null;
    readonly sessionKey: string | null;
  } | null;
  /** Over those that the run was started with. */
  readonly limits: RunLimitsDraft;
  readonly onBusy: OnBusy;
}

/** Who asks, as every start says it. */
export type RetryStarter = Pick<StartRun, 'source' | 'createdBy' | 'currency' | 'pricing' | 'starter'>;

/** A run that has ended, its conversation locked. */
interface EndedRun {
  readonly id: string;
  readonly workspace_id: string;
  readonly organization_id: string;
  readonly agent_id: string;
  readonly agent_revision_id: string;
  readonly conversation_id: string;
  readonly parent_run_id: string | null;
  readonly status: RunStatus;
  readonly turn_no: number | null;
  readonly session_key: string | null;
  readonly subject_kind: 'user' | 'guest' | null;
  readonly subject_id: string | null;
  readonly input: RunInput;
  readonly metadata: Record<string, unknown>;
  readonly root_event_id: string | null;
  readonly event_depth: number;
  readonly untrusted: boolean;
  readonly max_effect: 'read' | 'write';
  readonly hops: number;
  readonly limits: RunLimits;
  readonly revision_limits: Partial<RevisionLimits>;
  readonly binding_id: string | null;
  readonly has_agent: boolean;
  /** Null when the persona is not there any more. */
  readonly persona_slug: string | null;
}

/**
 * Asks a run that has ended once more. Without a fork the new run takes the place of its turn, which has to be the conversation's last and is discarded when the
 * new one begins; with one it goes on from a message in a conversation of its own, with copies of what was said before. Throws 404, 409 `run_not_finished`,
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
  if (run.binding_id !== null)
    throw fail('state_conflict', { reason: 'is_review', detail: 'Start another review of the pull request in its place.' });
  if (!run.has_agent) throw agentInactive();
  return ask.fork === null ? replaceTurn(tx, run, { ask, by }) : forkAt(tx, run, { fork: ask.fork, ask, by });
}

async function replaceTurn(
  tx: TenantTransaction,
  run: EndedRun,
  { ask, by }: { readonly ask: RetryAsk; readonly by: RetryStarter },
): Promise<StartedRun> {
  // Its turn has been used by the run that asked for it.
  if (run.parent_run_id !== null)
    throw fail('state_conflict', { reason: 'not_a_root_run', detail: 'A run of a sub-agent can be forked, not replaced.' });
  if (await hasMovedOn(tx, run))
    throw fail('state_conflict', { reason: 'conversation_moved_on', detail: 'The conversation has gone on since; fork it instead.' });

  const { attachments = [], ...input } = run.input;
  return startRun(tx, {
    ...startOf(run, ask, by),
    sessionKey: run.session_key,
    input,
    attachmentIds: await usableFiles(tx, attachments),
    continued: { conversationId: run.conversation_id, retryOfRunId: run.id },
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
  await copyMessages(tx, { id, conversationId, organizationId: run.organization_id, workspaceId: run.workspace_id }, point.copied);
  return started;
}

/** What the message asked, to be asked again. */
async function askedAt(tx: TenantTransaction, point: ForkPoint) {
  const { attachments = [], ...input } = inputOfMessage(point);
  return { ...input, attachmentIds: await usableFiles(tx, attachments) };
}

/** What both kinds have of the old run. */
function startOf(run: EndedRun, ask: RetryAsk, by: RetryStarter) {
  const { subject_kind: kind, subject_id: id } = run;
  return {
    ...by,
    workspaceId: run.workspace_id,
    defaultWorkspaceId: null,
    agent: { id: run.agent_id },
    revisionId: ask.revision === 'pinned' ? run.agent_revision_id : null,
    personaSlug: run.persona_slug,
    subject: kind === null || id === null ? null : { kind, id },
    onBusy: ask.onBusy,
    limits: { ...askedLimits(run), ...ask.limits },
    metadata: run.metadata,
    // Whoever asks again asks for no more than was allowed, with words from where they came.
    cause: {
      rootEventId: run.root_event_id,
      eventDepth: run.event_depth,
      untrusted: run.untrusted,
      maxEffect: run.max_effect,
      hops: run.hops,
    },
  };
}

/** The limits that the run was started with beside those of its revision: another revision has its own. */
function askedLimits({ limits, revision_limits: revision }: EndedRun): RunLimitsDraft {
  const own = limitsOfRun({}, revision);
  return Object.fromEntries(Object.entries(limits).filter(([name, value]) => Reflect.get(own, name) !== value));
}

function readEnded(tx: TenantTransaction, runId: string): Promise<EndedRun | null> {
  return row<EndedRun>(
    tx.em,
    `select r.id, r.organization_id, r.workspace_id, r.agent_id, r.agent_revision_id, r.conversation_id, r.parent_run_id, r.status, r.turn_no, r.session_key,
            r.subject_kind, r.subject_id, r.input, r.metadata, r.root_event_id, r.event_depth, r.untrusted, r.max_effect, r.hops, r.limits, v.document -> 'limits' as revision_limits, r.binding_id, a.deleted_at is null as has_agent,
            (select p.slug from personas p where p.agent_id = r.agent_id and p.slug = r.persona_slug and p.is_active and p.deleted_at is null) as persona_slug
       from runs r join agent_revisions v on v.id = r.agent_revision_id join agents a on a.id = r.agent_id
      where r.id = ? and r.deleted_at is null`,
    [runId],
  );
}

/** Whether anything came after the run's turn: a live run, or one of which something was kept. One that starts later has no turn yet. */
async function hasMovedOn(tx: TenantTransaction, run: EndedRun): Promise<boolean> {
  const later = await row(
    tx.em,
    `select 1 from runs o
      where o.conversation_id = ? and o.id <> ? and o.deleted_at is null
        and ((o.status in ('queued', 'running', 'waiting', 'cancelling') and (o.status <> 'queued' or o.activated_at is not null or o.queue_no is not null))
          or (coalesce(o.turn_no > ?::int, o.id > ?::uuid) and exists (select from messages m where m.run_id = o.id and m.state = 'committed')))
      limit 1`,
    [run.conversation_id, run.id, run.turn_no, run.id],
  );
  return later !== null;
}

/** Ids of the files that can be used still. What the run had to leave out is left out again. */
async function usableFiles(tx: TenantTransaction, parts: readonly AttachmentPart[]): Promise<string[]> {
  if (parts.length === 0) return [];
  const asked = parts.map((part) => part.attachment_id);
  const found = await rows<{ id: string }>(tx.em, `select a.id from attachments a where a.id = any (?::uuid[]) and a.state <> 'rejected'`, [
    asked,
  ]);
  const usable = new Set(found.map(({ id }) => id));
  return asked.filter((id) => usable.has(id));
}

/**
 * Discards the turn that a run replaces, when it begins: it stays readable with the old run and is in no prompt any more. A fork replaces nothing, since it
 * has a conversation of its own. No statement for a run that is no retry.
 */
export async function discardReplaced(
  tx: TenantTransaction,
  run: { readonly retry_of_run_id: string | null; readonly conversation_id: string },
): Promise<void> {
  if (run.retry_of_run_id === null) return;
  await rows(
    tx.em,
    `update messages m set state = 'discarded' from runs o
      where o.id = ? and o.conversation_id = ? and m.run_id = o.id and m.turn = o.turn_no and m.state = 'committed'`,
    [run.retry_of_run_id, run.conversation_id],
  );
}
