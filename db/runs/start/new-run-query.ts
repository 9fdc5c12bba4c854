import { sql, type QueryCreator } from 'kysely';
import { literal, now } from '../../expressions.ts';
import { jsonb } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import type { Tables } from '../../table-types.ts';
import { queued } from '../live.ts';
import type { newRunValues } from './insert-run.ts';

const none = literal(null);

type Parameters = ParametersOf<ReturnType<typeof newRunValues>>;

/** Writes a run with its conversation, its first message, its stream and, if they are given, its first frame and the start of its workflow. */
export const insertNewRun = prepared((p: Parameters) =>
  withStart(withChunk(withMessage(withConversation(query, p), p), p), p)
    .insertInto('runs')
    .values(runColumns(p)),
);

type Writing = QueryCreator<Tables>;

function rowScopeOf({ organizationId, workspaceId }: Parameters) {
  return { organizationId, workspaceId };
}

function withConversation(writing: Writing, p: Parameters): Writing {
  if (!p.isNewConversation)
    return writing.with('moved', (of) => of.updateTable('conversations').set(conversationChanges(p)).where('id', '=', p.conversationId));
  return writing.with('conversation', (of) =>
    of.insertInto('conversations').values({
      ...rowScopeOf(p),
      id: p.conversationId,
      agentId: p.agentId,
      subjectKind: p.subjectKind,
      subjectId: p.subjectId,
      sessionKey: none,
      personaSlug: p.conversationPersona,
      activeRunId: p.activeRunId,
      queueLength: 0,
      nextQueueNo: 1,
      turnNo: p.turn,
      createdAt: p.createdAt,
    }),
  );
}

function conversationChanges(p: Parameters) {
  const personaSlug = sql<string | null>`coalesce(${p.conversationPersona}, persona_slug)`;
  if (p.isActive) return { activeRunId: p.id, turnNo: sql<number>`turn_no + 1`, personaSlug };
  if (!p.queueStep) return { personaSlug };
  return { queueLength: sql<number>`queue_length + 1`, nextQueueNo: sql<number>`next_queue_no + ${p.queueStep}`, personaSlug };
}

function withMessage(writing: Writing, p: Parameters): Writing {
  const { id: runId, rootRunId, headSeq } = p;
  return writing
    .with('stream', (of) => of.insertInto('run_streams').values({ ...rowScopeOf(p), runId, rootRunId, headSeq, updatedAt: now }))
    .with('message', (of) =>
      of.insertInto('messages').values({
        ...rowScopeOf(p),
        id: p.messageId,
        conversationId: p.conversationId,
        runId,
        turn: p.turn,
        pos: p.firstPos,
        role: 'user',
        origin: 'user',
        content: jsonb(p.content),
        toolCallIds: sql<string[]>`'{}'`,
        state: 'pending',
        attempt: 1,
        createdAt: p.createdAt,
      }),
    );
}

function withChunk(writing: Writing, p: Parameters): Writing {
  const { frames } = p;
  if (!frames) return writing;
  return writing.with('chunk', (of) =>
    of.insertInto('run_frame_chunks').values({ ...rowScopeOf(p), runId: p.id, firstSeq: 1, lastSeq: 1, frames }),
  );
}

function withStart(writing: Writing, p: Parameters): Writing {
  const { outboxId: id, outboxOrganizationId: organizationId, outboxWorkspaceId: workspaceId, kind, dedupeKey, target, payload } = p;
  if (!id || !kind || !dedupeKey || !target || !payload) return writing;
  const place = { organizationId: organizationId ?? none, workspaceId: workspaceId ?? none };
  return writing.with('start', (of) => of.insertInto('outbox').values({ ...place, id, kind, dedupeKey, target, payload: jsonb(payload) }));
}

function runColumns(p: Parameters) {
  const { subjectKind, subjectId, createdByKind, createdById, createdByActingUserId } = p;
  return {
    ...rowScopeOf(p),
    id: p.id,
    agentId: p.agentId,
    agentRevisionId: p.agentRevisionId,
    agentSlug: p.agentSlug,
    personaSlug: p.personaSlug,
    conversationId: p.conversationId,
    rootRunId: p.rootRunId,
    path: p.path,
    status: queued,
    turnNo: p.turnNo,
    queueNo: p.queueNo,
    limits: jsonb(p.limits),
    usageOwn: jsonb(p.usageOwn),
    usageSubtree: jsonb(p.usageSubtree),
    warnings: sql<never[]>`'[]'`,
    activatedAt: p.activatedAt,
    hardDeadlineAt: p.hardDeadlineAt,
    createdAt: p.createdAt,
    updatedAt: p.createdAt,
    sessionKey: p.sessionKey,
    source: p.source,
    triggerId: p.triggerId,
    evaluationRunId: p.evaluationRunId ?? none,
    ...{ subjectKind, subjectId, createdByKind, createdById, createdByActingUserId },
    input: jsonb(p.input),
    onBusy: p.onBusy,
    metadata: jsonb(p.metadata),
    startAfter: p.startAfter,
    ...lineageColumns(p),
    ...reviewColumns(p),
  };
}

function lineageColumns(p: Parameters) {
  const { depth, eventDepth, untrusted, maxEffect, hops } = p;
  return {
    parentRunId: p.parentRunId ?? none,
    parentToolCallId: p.parentToolCallId ?? none,
    lineage: p.lineage ?? sql<string[]>`'{}'`,
    retryOfRunId: p.retryOfRunId ?? none,
    trace: p.trace ?? none,
    forkedAtMessageId: p.forkedAtMessageId ?? none,
    rootEventId: p.rootEventId ?? none,
    ...{ depth, eventDepth, untrusted, maxEffect, hops },
  };
}

function reviewColumns(p: Parameters) {
  return {
    bindingId: p.bindingId ?? none,
    reviewPullRequestId: p.reviewPullRequestId ?? none,
    reviewRound: p.reviewRound ?? none,
    reviewHeadSha: p.reviewHeadSha ?? none,
    playbookRevisionId: p.playbookRevisionId ?? none,
    review: p.review ? jsonb(p.review) : none,
  };
}
