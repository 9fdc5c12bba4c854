import type { NewRun } from './insert-run.ts';
import type { RunRow } from '../read/run-view.ts';

/** Values common to every run that has just been created. */
const untouched = {
  status: 'queued',
  waitingOn: null,
  waitingUntil: null,
  finishReason: null,
  inputCut: false,
  outputAttachments: [],
  hasOutput: false,
  outputText: null,
  outputJson: null,
  outputCut: false,
  error: null,
  warnings: [],
  steps: 0,
  lastSeq: 1,
  pendingApprovals: 0,
  pendingToolCalls: [],
  cancelPolicy: null,
  startedAt: null,
  finishedAt: null,
  cancelRequestedAt: null,
} satisfies Partial<RunRow>;

/** Returns a new run's row as a query would read it, without a query. */
export function rowOfNew(run: NewRun): RunRow {
  const { target, start, line } = run;
  const at = run.at.toISOString();
  return {
    ...untouched,
    id: run.id,
    organizationId: target.organizationId,
    workspaceId: target.workspaceId,
    agentId: target.agentId,
    agentRevisionId: target.revisionId,
    rootRunId: start.parent?.rootRunId ?? run.id,
    parentRunId: start.parent?.runId ?? null,
    parentToolCallId: start.parent?.toolCallId ?? null,
    retryOfRunId: start.continued?.retryOfRunId ?? null,
    forkedAtMessageId: start.continued?.forkedAtMessageId ?? null,
    triggerId: start.triggerId ?? null,
    evaluationRunId: start.evaluationRunId ?? null,
    bindingId: start.review?.bindingId ?? null,
    depth: start.parent?.depth ?? 0,
    agentSlug: target.agentSlug,
    personaSlug: run.personaSlug,
    sessionKey: start.sessionKey,
    source: start.source,
    subjectKind: start.subject?.kind ?? null,
    subjectId: start.subject?.id ?? null,
    createdByKind: start.createdBy.kind,
    createdById: start.createdBy.id,
    createdByActingUserId: start.createdBy.actingUserId,
    queuePosition: line.kind === 'line' ? line.position : null,
    inputText: start.input.text ?? null,
    inputJson: start.input.json ?? null,
    inputAttachments: start.input.attachments ?? [],
    limits: run.limits,
    usageOwn: run.usage,
    usageSubtree: run.usage,
    onBusy: start.onBusy,
    metadata: start.metadata,
    startAfter: start.startAfter?.toISOString() ?? null,
    createdAt: at,
    updatedAt: at,
  };
}
