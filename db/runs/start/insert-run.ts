import { activeOriginText } from '../../../ports/telemetry/origin.ts';
import type { OutboxMessage } from '../../../workflows/contracts/outbox.ts';
import { jsonText } from '../../json-text.ts';
import { outboxRow } from '../../outbox.ts';
import { queueStatement } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { RunIdentity } from '../../streams/frame-text.ts';
import { hardDeadlineDays, type ConversationRow, type QueuePosition } from './conversations.ts';
import { insertNewRun } from './new-run-query.ts';
import type { ContentBlock, RunLimits } from '../run-types.ts';
import type { UsageTotals } from '../../billing/ledger/usage.ts';
import type { RunInput } from '../read/run-view.ts';
import type { StartRun } from './start-run.ts';
import type { StartTarget } from './start-target.ts';

/** A run about to be written; its conversation is locked or new. */
export interface NewRun {
  readonly id: string;
  readonly messageId: string;
  readonly conversation: ConversationRow;
  readonly isNewConversation: boolean;
  readonly line: QueuePosition;
  readonly target: StartTarget;
  readonly start: StartRun;
  /** The requested persona, else the conversation's, else the agent's default. */
  readonly personaSlug: string | null;
  readonly limits: RunLimits;
  readonly usage: UsageTotals;
  readonly at: Date;
}

/** What is written to set a new run without a parent going. */
export interface InitialWrites {
  /** The frame's whole text. */
  readonly firstFrame: string;
  /** The start of the run's workflow; null: the run waits in the queue. */
  readonly start: OutboxMessage | null;
}

const dayMs = 86_400_000;

/**
 * Writes conversation, run, user message, stream with its first frame and outbox row in one statement, which goes with the next one; foreign keys are
 * checked at its end. A child has no `beginnings`: its frames come from an append, which copies them to the root's stream, and its parent's workflow starts
 * the child's.
 */
export async function insertRun(tx: TenantTransaction, run: NewRun, beginnings: InitialWrites | null): Promise<void> {
  const { firstFrame = null, start = null } = beginnings ?? {};
  // The workflow that follows a pull request is woken for each of its runs.
  const dedupeKey = run.start.review ? `${start?.workflowId}:${run.id}` : start?.workflowId;
  const startRow = start && dedupeKey !== undefined ? outboxRow(tx, { message: start, dedupeKey }) : null;

  await queueStatement(tx.em, insertNewRun(newRunValues(run, { firstFrame, startRow })));
  if (firstFrame !== null) tx.outgoing.frames.push({ runId: run.id, firstSeq: 1, frames: [firstFrame] });
  if (startRow) tx.outgoing.outboxIds.push(startRow.id);
}

/** What is written along with a new run. */
interface Beside {
  readonly firstFrame: string | null;
  readonly startRow: ReturnType<typeof outboxRow> | null;
}

/** The values of `insertNewRun`. Undefined: the row that has the value is not written, or its default suits. */
export function newRunValues(run: NewRun, { firstFrame, startRow }: Beside) {
  return {
    ...runValues(run),
    ...startValues(run.start),
    ...lineageValues(run.start),
    ...reviewValues(run.start),
    ...conversationValues(run),
    messageId: run.messageId,
    content: jsonText(contentOf(run.start.input)),
    turn: turnOf(run) ?? 0,
    firstPos: run.start.continued?.firstPos ?? 0,
    headSeq: firstFrame === null ? 0 : 1,
    frames: firstFrame === null ? undefined : [firstFrame],
    outboxId: startRow?.id,
    outboxOrganizationId: startRow?.organization_id,
    outboxWorkspaceId: startRow?.workspace_id,
    kind: startRow?.kind,
    dedupeKey: startRow?.dedupe_key,
    target: startRow?.target,
    payload: startRow ? jsonText(startRow.payload) : undefined,
  };
}

function runValues(run: NewRun) {
  const { target, start } = run;
  const usage = jsonText(run.usage);
  return {
    organizationId: target.organizationId,
    workspaceId: target.workspaceId,
    id: run.id,
    agentId: target.agentId,
    agentRevisionId: target.revisionId,
    agentSlug: target.agentSlug,
    personaSlug: run.personaSlug,
    conversationId: run.conversation.id,
    rootRunId: start.parent?.rootRunId ?? run.id,
    path: [...identityOfNew(run).path],
    turnNo: turnOf(run),
    queueNo: run.line.kind === 'line' ? run.line.queueNo : null,
    limits: jsonText(run.limits),
    usageOwn: usage,
    usageSubtree: usage,
    activatedAt: isActive(run) ? run.at : null,
    hardDeadlineAt: isActive(run) ? new Date(run.at.getTime() + hardDeadlineDays * dayMs) : null,
    createdAt: run.at,
    trace: activeOriginText(),
  };
}

function startValues(start: StartRun) {
  return {
    sessionKey: start.sessionKey,
    source: start.source,
    triggerId: start.triggerId ?? null,
    evaluationRunId: start.evaluationRunId ?? undefined,
    subjectKind: start.subject?.kind ?? null,
    subjectId: start.subject?.id ?? null,
    createdByKind: start.createdBy.kind,
    createdById: start.createdBy.id,
    createdByActingUserId: start.createdBy.actingUserId,
    input: jsonText(start.input),
    onBusy: start.onBusy,
    metadata: jsonText(start.metadata),
    startAfter: start.startAfter ?? null,
  };
}

function lineageValues({ parent, continued, cause }: StartRun) {
  return {
    parentRunId: parent?.runId,
    parentToolCallId: parent?.toolCallId,
    lineage: parent ? [...parent.lineage] : undefined,
    depth: parent?.depth,
    retryOfRunId: continued ? (continued.retryOfRunId ?? null) : undefined,
    forkedAtMessageId: continued ? (continued.forkedAtMessageId ?? null) : undefined,
    rootEventId: cause ? (cause.rootEventId ?? null) : undefined,
    eventDepth: cause ? (cause.eventDepth ?? 0) : undefined,
    untrusted: cause ? (cause.untrusted ?? false) : undefined,
    maxEffect: cause ? (cause.maxEffect ?? 'write') : undefined,
    hops: cause ? (cause.hops ?? 0) : undefined,
  };
}

function reviewValues({ review }: StartRun) {
  return {
    bindingId: review?.bindingId,
    reviewPullRequestId: review?.pullRequestId,
    reviewRound: review?.round,
    reviewHeadSha: review?.headSha,
    playbookRevisionId: review?.playbookRevisionId,
    review: review ? jsonText(review.request) : undefined,
  };
}

function conversationValues(run: NewRun) {
  const { isNewConversation, line, start } = run;
  return {
    isNewConversation: isNewConversation || undefined,
    isActive: isActive(run) || undefined,
    /** For a run that joins the queue: by how much the next place moves. */
    queueStep: line.kind === 'line' ? Number(!line.isFirst) : undefined,
    conversationPersona: isNewConversation ? start.personaSlug : conversationPersonaOf(run),
    // No other run enters a child's conversation while the child lives, so there is no queue to hold up.
    activeRunId: isActive(run) && !start.parent ? run.id : null,
  };
}

/** A run gets its turn number when it becomes active. */
function turnOf(run: NewRun): number | null {
  return isActive(run) ? run.conversation.turnNo + 1 : null;
}

function isActive({ line }: NewRun): boolean {
  return line.kind === 'active';
}

/** The run identity that the new run's first frame carries. */
export function identityOfNew(run: NewRun): RunIdentity {
  const { target, start } = run;
  return {
    runId: run.id,
    rootRunId: start.parent?.rootRunId ?? run.id,
    parentRunId: start.parent?.runId ?? null,
    organizationId: target.organizationId,
    workspaceId: target.workspaceId,
    path: start.parent?.path ?? [target.agentSlug],
  };
}

/** Returns the persona that a run sets on its conversation for later runs, or null for none. A retried run changes nothing there. */
export function conversationPersonaOf({ start }: Pick<NewRun, 'start'>): string | null {
  return start.continued ? null : start.personaSlug;
}

/** Returns what the model reads of an input. */
export function contentOf(input: RunInput): ContentBlock[] {
  return [
    ...(input.text === undefined ? [] : [{ type: 'text' as const, text: input.text }]),
    ...(input.json === undefined ? [] : [{ type: 'json' as const, value: input.json }]),
    ...(input.attachments ?? []).map((file) => ({ type: 'attachment' as const, ...file })),
  ];
}
