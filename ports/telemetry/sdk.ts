import { hostname } from 'node:os';
import { context, diag, DiagLogLevel, propagation, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  SamplingDecision,
  TracerProvider,
  TraceIdRatioBasedSampler,
  type Sampler,
} from '@opentelemetry/sdk-trace';
import { attribute, schemaUrl } from './conventions.ts';
import { givenIds } from './ids.ts';
import type { TelemetrySettings } from './settings.ts';
import { useSampling } from './spans.ts';
import type { Tracing, TracingOptions } from './tracing.ts';

const random = new RandomIdGenerator();

/** Starts OpenTelemetry's SDK for traces in this process. */
export function startSdk({ settings, process: processName, version, log }: TracingOptions): Tracing {
  diag.setLogger(
    {
      error: (message) => log.warn({ cause: message.slice(0, 500) }, 'traces not sent'),
      warn: (message) => log.warn({ cause: message.slice(0, 500) }, 'tracing'),
      info: () => undefined,
      debug: () => undefined,
      verbose: () => undefined,
    },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const sampler = samplerOf(settings);
  const provider = new TracerProvider({
    sampler,
    idGenerator: {
      generateTraceId: () => givenIds().traceId ?? random.generateTraceId(),
      generateSpanId: () => givenIds().spanId ?? random.generateSpanId(),
    },
    resource: defaultResource()
      .merge(detectResources({ detectors: [envDetector] }))
      .merge(
        resourceFromAttributes(
          {
            [attribute.serviceName]: `${settings.serviceName}-${processName}`,
            [attribute.serviceVersion]: version,
            [attribute.serviceInstance]: `${hostname()}:${process.pid}`,
          },
          { schemaUrl },
        ),
      ),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), scheduledDelayMillis: 1_000, ...queueOf(settings) })],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  useSampling(
    (traceId) =>
      sampler.shouldSample(ROOT_CONTEXT, traceId, 'invoke_agent', SpanKind.INTERNAL, {}, []).decision ===
      SamplingDecision.RECORD_AND_SAMPLED,
  );
  return { close: () => provider.shutdown() };
}

/** Spans with content are large: fewer wait, and an export stays below what collectors accept. */
function queueOf({ hasContent }: TelemetrySettings) {
  return hasContent ? { maxQueueSize: 512, maxExportBatchSize: 64 } : { maxQueueSize: 2_048, maxExportBatchSize: 512 };
}

function samplerOf({ sampler, ratio }: TelemetrySettings): Sampler {
  switch (sampler) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  }
}
