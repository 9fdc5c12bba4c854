import { Counter, Histogram, type Metric } from 'prom-client';
import { evaluationOutcomes, reviewOutcomes, searchers, searchOutcomes, type Measurement } from '../../workflows/contracts/measurements.ts';
import { severities } from '../../workflows/contracts/review/code-review.ts';
import { knownLabels } from './labels.ts';

/** What is around runs: what causes them, what they search, and what comes of several. */
export type CauseMeasurement = Extract<Measurement, { readonly kind: 'search' | 'delivery' | 'review_ended' | 'evaluation_ended' }>;

const deliveryStatuses = ['started', 'published', 'coalescing', 'rejected', 'failed'] as const;
const searchBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const resultOutcomes = ['scored', 'error'] as const;
const registers: [] = [];

/** Creates the metrics of searches, deliveries, reviews and evaluations of one process. */
export function createCauseMetrics(): { readonly measure: (measurement: CauseMeasurement) => void; readonly all: readonly Metric[] } {
  const { searches, deliveries, reviews, findings, evaluations, results } = createMeters();
  const statusOf = knownLabels(deliveryStatuses);
  for (const searcher of searchers) for (const outcome of searchOutcomes) searches.zero({ searcher, outcome });
  for (const status of deliveryStatuses) deliveries.inc({ status }, 0);
  for (const outcome of reviewOutcomes) reviews.inc({ outcome }, 0);
  for (const severity of severities) findings.inc({ severity }, 0);
  for (const status of evaluationOutcomes) evaluations.inc({ status }, 0);
  for (const outcome of resultOutcomes) results.inc({ outcome }, 0);

  const measure = (measurement: CauseMeasurement): void => {
    switch (measurement.kind) {
      case 'search':
        searches.observe({ searcher: measurement.searcher, outcome: measurement.outcome }, measurement.afterS);
        return;
      case 'delivery':
        deliveries.inc({ status: statusOf(measurement.status) });
        return;
      case 'review_ended':
        reviews.inc({ outcome: measurement.outcome });
        for (const severity of severities) findings.inc({ severity }, measurement.findings[severity] ?? 0);
        return;
      case 'evaluation_ended':
        evaluations.inc({ status: measurement.status });
        results.inc({ outcome: 'error' }, measurement.errors);
        results.inc({ outcome: 'scored' }, measurement.results - measurement.errors);
        return;
      default:
        measurement satisfies never;
    }
  };
  return { measure, all: [searches, deliveries, reviews, findings, evaluations, results] };
}

function createMeters() {
  const searches = new Histogram({
    name: 'longhaul_search_duration_seconds',
    help: 'Searches of knowledge bases, with the vectors of their queries',
    labelNames: ['searcher', 'outcome'],
    buckets: searchBuckets,
    registers,
  });
  const deliveries = new Counter({
    name: 'longhaul_deliveries_total',
    help: 'Deliveries to webhook endpoints that were stored, by what they came to',
    labelNames: ['status'],
    registers,
  });
  const reviews = new Counter({
    name: 'longhaul_reviews_ended_total',
    help: 'Code reviews, answers to questions and fixes that ended',
    labelNames: ['outcome'],
    registers,
  });
  const findings = new Counter({
    name: 'longhaul_review_findings_total',
    help: 'New findings of code reviews, and those that came back',
    labelNames: ['severity'],
    registers,
  });
  const evaluations = new Counter({
    name: 'longhaul_evaluations_ended_total',
    help: 'Evaluations that ended',
    labelNames: ['status'],
    registers,
  });
  const results = new Counter({
    name: 'longhaul_evaluation_results_total',
    help: 'Results of ended evaluations, by whether their run or a score failed',
    labelNames: ['outcome'],
    registers,
  });
  return { searches, deliveries, reviews, findings, evaluations, results };
}
