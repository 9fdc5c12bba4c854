import {
  context,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type TimeInput,
} from '@opentelemetry/api';
import { Failure } from '../../workflows/contracts/failure.ts';
import { attribute, type GenAiOperation } from './conventions.ts';
import { withIds, type SpanIds } from './ids.ts';

let sampling: ((traceId: string) => boolean) | null = null;

/** Called once tracing has started. `samples`: whether a trace that begins here under this id is recorded. */
export function useSampling(samples: (traceId: string) => boolean): void {
  sampling = samples;
}

/** Whether this process records spans. */
export function isTracing(): boolean {
  return sampling !== null;
}

/** Whether a trace that begins here under this id is recorded. */
export function samplesTrace(traceId: string): boolean {
  return sampling?.(traceId) ?? false;
}

/** A span to be started. */
export interface SpanStart {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes: Attributes;
  readonly ids?: SpanIds;
  /** Default: what is active here. */
  readonly parent?: Context;
  readonly startTime?: TimeInput;
}

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

/** Starts a span. */
export function startSpan({ name, kind, attributes, ids = {}, parent = context.active(), startTime }: SpanStart): Span {
  const tracer = trace.getTracer('longhaul');
  return withIds(ids, () =>
    tracer.startSpan(name, { kind: kinds[kind], attributes, ...(startTime === undefined ? {} : { startTime }) }, parent),
  );
}

/** Runs `work` in a span that ends with it. An error marks the span with its class; its message may hold texts of a tenant and is left out. */
export async function inSpan<R>(start: SpanStart, work: (span: Span) => Promise<R>): Promise<R> {
  if (!isTracing()) return work(noSpan);
  const span = startSpan(start);
  try {
    return await context.with(trace.setSpan(start.parent ?? context.active(), span), () => work(span));
  } catch (error) {
    failSpan(span, errorTypeOf(error));
    throw error;
  } finally {
    span.end();
  }
}

const noSpan = trace.wrapSpanContext({ traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 });

/** Marks a span as failed by a class of errors, such as an error code of the API. */
export function failSpan(span: Span, errorType: string): void {
  span.setAttribute(attribute.errorType, errorType);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Returns the class of an error: the code of a failure, else its name. */
export function errorTypeOf(error: unknown): string {
  if (error instanceof Failure) return error.code;
  return error instanceof Error ? error.name : '_OTHER';
}

/** Names a span of an agent, a model or a tool as the conventions do. `subject`: the agent's, model's or tool's name. */
export function genAiName(operation: GenAiOperation, subject: string): string {
  return `${operation} ${subject}`;
}

/** Returns headers with the `traceparent` of the active span added (W3C Trace Context), for a request that leaves the deployment; unchanged where nothing is traced. */
export function withTraceparent<H extends Readonly<Record<string, string>>>(headers: H): H & Record<string, string> {
  const added: Record<string, string> = {};
  propagation.inject(context.active(), added);
  return { ...headers, ...added };
}
