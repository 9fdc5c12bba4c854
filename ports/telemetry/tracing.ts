import type { Logger } from 'pino';
import type { TelemetrySettings } from './settings.ts';

/** The tracing of a process: `close` sends what is still to be sent. */
export interface Tracing {
  close(): Promise<void>;
}

export interface TracingOptions {
  readonly settings: TelemetrySettings;
  /** The kind of process, such as `api`: its service is named by the deployment's service name and it (`longhaul-api`). */
  readonly process: string;
  readonly version: string;
  readonly log: Logger;
}

/**
 * Starts the tracing of this process, to the collector that OpenTelemetry's variables name (OTLP over HTTP, protobuf). Returns null where no endpoint is set:
 * then nothing is loaded or recorded. Spans wait in a bounded queue: a collector that does not answer costs spans, not requests.
 */
export async function startTracing(options: TracingOptions): Promise<Tracing | null> {
  if (!options.settings.isOn) return null;
  const { startSdk } = await import('./sdk.ts');
  return startSdk(options);
}
