import { context } from '@opentelemetry/api';
import { contextOf, spanIdOf, traceIdOf, type TraceOrigin } from './origin.ts';
import { runIdOf } from '../../workflows/contracts/queues.ts';
import { isTracing, samplesTrace } from './spans.ts';

/** Returns the origin of a run that nobody's trace started: a trace of its own, recorded or not as the sampler decides. Null where nothing is traced. */
export function rootOrigin(runId: string): TraceOrigin | null {
  if (!isTracing()) return null;
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
  const origin = trace ?? (runId === null ? null : rootOrigin(runId));
  const spanId = runId === null ? (origin?.spanId ?? null) : spanIdOf(runId);
  return origin === null || spanId === null ? work() : context.with(contextOf({ ...origin, spanId }), work);
}
