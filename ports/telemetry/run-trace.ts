import { context, ROOT_CONTEXT, type Attributes } from '@opentelemetry/api';
import { runIdOf } from '../../workflows/contracts/queues.ts';
import type { EndedRun } from '../../workflows/contracts/runs/ended-run.ts';
import { attribute, ownAttribute, tokenAttributes } from './conventions.ts';
import { contextOf, parseOrigin, spanIdOf, traceIdOf, type TraceOrigin } from './origin.ts';
import { failSpan, genAiName, isTracing, samplesTrace, startSpan } from './spans.ts';

/** Returns the origin of a run that nobody's trace started. Null where nothing is traced. */
export function rootOrigin(runId: string): TraceOrigin | null {
  return isTracing() ? ownTrace(runId) : null;
}

/** A trace of the run's own, recorded or not as the sampler decides. */
function ownTrace(runId: string): TraceOrigin {
  const traceId = traceIdOf(runId);
  return { traceId, spanId: null, isSampled: samplesTrace(traceId) };
}

/**
 * Runs the work of an activity below the span of its run (`invoke_agent`), whose id follows from the run's, or, in any other workflow, below the span that
 * started it.
 */
export function inTraceOf<R>(workflowId: string, trace: TraceOrigin | null, work: () => Promise<R>): Promise<R> {
  if (!isTracing()) return work();
  const runId = runIdOf(workflowId);
  const origin = trace ?? (runId === null ? null : ownTrace(runId));
  const spanId = runId === null ? (origin?.spanId ?? null) : spanIdOf(runId);
  return origin === null || spanId === null ? work() : context.with(contextOf({ ...origin, spanId }), work);
}

/** Records the span of a run that has ended, `invoke_agent`, from its start to its end. */
export function recordRunSpan(run: EndedRun): void {
  if (!isTracing()) return;
  const origin = parseOrigin(run.trace) ?? ownTrace(run.runId);
  const { traceId, spanId } = origin;
  const span = startSpan({
    name: genAiName('invoke_agent', run.agentSlug),
    kind: 'internal',
    ids: { traceId, spanId: spanIdOf(run.runId) },
    parent: spanId === null ? ROOT_CONTEXT : contextOf({ ...origin, spanId }),
    startTime: run.startedAt,
    attributes: attributesOf(run),
  });
  if (run.errorCode !== null) failSpan(span, run.errorCode);
  span.end(run.finishedAt);
}

function attributesOf({ tokens, ...run }: EndedRun): Attributes {
  return {
    [attribute.operation]: 'invoke_agent',
    [attribute.agentId]: run.agentId,
    [attribute.agentName]: run.agentSlug,
    [attribute.agentVersion]: run.revisionId,
    [attribute.conversationId]: run.conversationId,
    ...tokenAttributes(tokens),
    [ownAttribute.organizationId]: run.organizationId,
    [ownAttribute.workspaceId]: run.workspaceId,
    [ownAttribute.runId]: run.runId,
    [ownAttribute.source]: run.source,
    [ownAttribute.finishReason]: run.finishReason,
  };
}
