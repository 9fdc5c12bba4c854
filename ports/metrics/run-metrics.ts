import { Counter, Histogram, type Metric } from 'prom-client';
import { tokenBuckets, type Measurement } from '../../workflows/contracts/measurements.ts';
import { runSources, terminalRunStatuses } from '../../workflows/contracts/runs/runs.ts';
import { createCauseMetrics } from './cause-metrics.ts';
import { knownLabels } from './labels.ts';

/** What every process counts about the runs, reviews, evaluations and deliveries whose changes it commits. */
export interface RunMetrics {
  /** Adds what a transaction has committed. */
  measure(measurement: Measurement): void;
  /** In no registry: the process registers them. */
  readonly all: readonly Metric[];
}

export interface RunMetricsOptions {
  /** Ids of the providers in the deployment's model registry. */
  readonly providers: readonly string[];
  readonly currency: string;
}

const durationBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400];
const firstFrameBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const registers: [] = [];

/** Creates the counters of one process; each counts what that process has committed, so that those of all processes add up. */
export function createRunMetrics({ providers, currency }: RunMetricsOptions): RunMetrics {
  const { ended, duration, firstFrame, tokens, cost, aboveEstimate } = createMeters();
  const causes = createCauseMetrics();
  const sourceOf = knownLabels(runSources);
  const providerOf = knownLabels(providers);
  const currencyOf = knownLabels([currency]);
  for (const status of terminalRunStatuses) for (const source of runSources) ended.inc({ status, source }, 0);

  const measure = (measurement: Measurement): void => {
    switch (measurement.kind) {
      case 'run_ended': {
        const labels = { status: measurement.status, source: sourceOf(measurement.source) };
        ended.inc(labels);
        if (measurement.activeS !== null) duration.observe(labels, measurement.activeS);
        return;
      }
      case 'first_frame':
        firstFrame.observe({ source: sourceOf(measurement.source) }, measurement.afterS);
        return;
      case 'usage': {
        const provider = providerOf(measurement.provider);
        for (const bucket of tokenBuckets) tokens.inc({ provider, bucket }, measurement.tokens[bucket]);
        const labels = { provider, currency: currencyOf(measurement.currency) };
        cost.inc(labels, Number(measurement.cost));
        aboveEstimate.inc(labels, Number(measurement.aboveEstimate));
        return;
      }
      default:
        causes.measure(measurement);
    }
  };
  return { measure, all: [ended, duration, firstFrame, tokens, cost, aboveEstimate, ...causes.all] };
}

function createMeters() {
  const ended = new Counter({
    name: 'longhaul_runs_ended_total',
    help: 'Runs that ended, by how they ended and what had started them',
    labelNames: ['status', 'source'],
    registers,
  });
  const duration = new Histogram({
    name: 'longhaul_run_duration_seconds',
    help: 'Time that ended runs were at work, from their begin to their end without their waits',
    labelNames: ['status', 'source'],
    buckets: durationBuckets,
    registers,
  });
  const firstFrame = new Histogram({
    name: 'longhaul_run_first_frame_seconds',
    help: "Time from the moment a run could begin to the first frame of its model's answer",
    labelNames: ['source'],
    buckets: firstFrameBuckets,
    registers,
  });
  const tokens = new Counter({
    name: 'longhaul_model_tokens_total',
    help: 'Tokens of settled model calls, by disjoint bucket of the ledger',
    labelNames: ['provider', 'bucket'],
    registers,
  });
  const cost = new Counter({
    name: 'longhaul_model_cost_total',
    help: 'Cost of settled model calls in units of the currency; the ledger is exact',
    labelNames: ['provider', 'currency'],
    registers,
  });
  const aboveEstimate = new Counter({
    name: 'longhaul_model_cost_above_estimate_total',
    help: 'What settled model calls cost beyond what they had reserved in budgets and caps, in units of the currency',
    labelNames: ['provider', 'currency'],
    registers,
  });
  return { ended, duration, firstFrame, tokens, cost, aboveEstimate };
}
