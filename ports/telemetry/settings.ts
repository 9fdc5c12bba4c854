import Type, { type Static } from 'typebox';

const url = Type.String({
  pattern: '^https?://[^\\s?#]+$',
  maxLength: 2_048,
  description: 'an http or https URL without query or fragment',
});
const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/**
 * OpenTelemetry's own variables (the parts on SDK and OTLP exporter of its specification). Headers and resource attributes are read by the exporter and the
 * SDK themselves, which read their further variables, too: timeout, compression, certificates.
 */
export const telemetryVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: Type.Optional(url),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: Type.Optional(url),
  OTEL_EXPORTER_OTLP_HEADERS: Type.Optional(Type.String({ maxLength: 8_192 })),
  OTEL_RESOURCE_ATTRIBUTES: Type.Optional(Type.String({ maxLength: 8_192 })),
  OTEL_SERVICE_NAME: Type.String({ default: 'longhaul', minLength: 1, maxLength: 255 }),
  OTEL_SDK_DISABLED: Type.Boolean({ default: false }),
  OTEL_TRACES_SAMPLER: Type.Enum([...samplers], { default: 'parentbased_always_on' }),
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: Type.Boolean({ default: false }),
  OTEL_TRACES_SAMPLER_ARG: Type.Number({ default: 1, minimum: 0, maximum: 1 }),
};

const Variables = Type.Object(telemetryVariables);

/** What a process sends of its traces, and where. */
export interface TelemetrySettings {
  /** Whether spans are recorded at all: an endpoint is set. */
  readonly isOn: boolean;
  /** Whether spans hold prompts, answers, arguments and results of the organizations that ask for it, too. */
  readonly hasContent: boolean;
  readonly serviceName: string;
  readonly sampler: (typeof samplers)[number];
  /** The share of traces that a ratio sampler records. */
  readonly ratio: number;
}

/** Returns the settings of parsed variables. */
export function telemetrySettings(values: Static<typeof Variables>): TelemetrySettings {
  const endpoint = values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? values.OTEL_EXPORTER_OTLP_ENDPOINT;
  const isOn = endpoint !== undefined && !values.OTEL_SDK_DISABLED;
  return {
    isOn,
    hasContent: isOn && values.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT,
    serviceName: values.OTEL_SERVICE_NAME,
    sampler: values.OTEL_TRACES_SAMPLER,
    ratio: values.OTEL_TRACES_SAMPLER_ARG,
  };
}
