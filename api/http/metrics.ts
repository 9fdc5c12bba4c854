import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry, type Metric } from 'prom-client';

/** The metrics of the process. No label contains a run, user or key id. */
export interface Metrics {
  readonly registry: Registry;
  /** Seconds from the request's head to its last byte, by operation and status. */
  readonly requestDuration: Histogram<'operation' | 'status'>;
  /** Writes that a row-level policy refused: always a bug. */
  readonly rlsViolations: Counter;
  /** Requests refused by a rate limit, by policy. */
  readonly rateLimited: Counter<'policy'>;
}

/** `openStreams` is read when the page is scraped; `more` are numbers that other parts keep. */
export function createMetrics(options: { openStreams: () => number; more: readonly Metric[] }): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  for (const metric of options.more) registry.registerMetric(metric);

  new Gauge({
    name: 'longhaul_open_streams',
    help: 'Event streams and sockets open in this process',
    registers,
    collect() {
      this.set(options.openStreams());
    },
  });
  return {
    registry,
    requestDuration: new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Duration of requests',
      labelNames: ['operation', 'status'],
      registers,
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    }),
    rlsViolations: new Counter({ name: 'rls_violations_total', help: 'Writes refused by a row-level policy', registers }),
    rateLimited: new Counter({
      name: 'http_rate_limited_total',
      help: 'Requests refused by a rate limit',
      labelNames: ['policy'],
      registers,
    }),
  };
}
