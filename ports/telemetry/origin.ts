import { createHash, randomBytes } from 'node:crypto';
import { context, isSpanContextValid, trace, TraceFlags, type Context } from '@opentelemetry/api';

/**
 * The trace to which work belongs, as it travels to other processes: in rows of the outbox and in the header of workflows. `spanId` is null at the root of a
 * trace.
 */
export interface TraceOrigin {
  /** 32 lowercase hex digits. */
  readonly traceId: string;
  /** 16 lowercase hex digits. */
  readonly spanId: string | null;
  readonly isSampled: boolean;
}

const form = /^([0-9a-f]{32})-([0-9a-f]{16})?-(0[01])$/;

/** Returns the origin as text, which `parseOrigin` reads. */
export function originText({ traceId, spanId, isSampled }: TraceOrigin): string {
  return `${traceId}-${spanId ?? ''}-${isSampled ? '01' : '00'}`;
}

/** Returns the origin of a text that `originText` returned; null for anything else. */
export function parseOrigin(text: unknown): TraceOrigin | null {
  const [, traceId, spanId, flags] = (typeof text === 'string' ? form.exec(text) : null) ?? [];
  return traceId === undefined ? null : { traceId, spanId: spanId ?? null, isSampled: flags === '01' };
}

/** Returns the trace and span that are active here; null where nothing is traced. */
export function activeOrigin(): TraceOrigin | null {
  const span = trace.getSpanContext(context.active());
  if (!span || !isSpanContextValid(span)) return null;
  return { traceId: span.traceId, spanId: span.spanId, isSampled: (span.traceFlags & TraceFlags.SAMPLED) !== 0 };
}

/** Returns the trace and span that are active here as text; undefined where nothing is traced. */
export function activeOriginText(): string | undefined {
  const origin = activeOrigin();
  return origin === null ? undefined : originText(origin);
}

/** Trace and span of a step, as its row names them. */
export interface StepSpan {
  readonly traceId: string;
  readonly spanId: string;
}

/** Returns a span for a try of a step, below what is active here; null where nothing is recorded. Its id is known before it starts, for the step's row. */
export function newStepSpan(): StepSpan | null {
  const origin = activeOrigin();
  return origin?.isSampled ? { traceId: origin.traceId, spanId: randomBytes(8).toString('hex') } : null;
}

/**
 * Returns the id of the span of a run: derived from its own id, so that every process knows the parent of its spans, although that one ends
 * later, perhaps days later and in another process.
 */
export function spanIdOf(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 16);
}

/** Returns the trace id of a run that nobody's trace started: the run's id without its hyphens. */
export function traceIdOf(runId: string): string {
  return runId.replaceAll('-', '');
}

/** Returns the span of a run that is started below what is active here; null where nothing is recorded. */
export function spanOfRun(runId: string): StepSpan | null {
  const origin = activeOrigin();
  return origin?.isSampled ? { traceId: origin.traceId, spanId: spanIdOf(runId) } : null;
}

/** Returns a context in which a span of another process is active. */
export function contextOf({ traceId, spanId, isSampled }: TraceOrigin & { readonly spanId: string }): Context {
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(context.active(), { traceId, spanId, traceFlags, isRemote: true });
}
