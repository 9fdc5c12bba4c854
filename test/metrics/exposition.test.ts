import { beforeEach, expect, test } from '@jest/globals';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { createActivityMetrics } from '../../ports/metrics/activity-metrics.ts';
import { metricsPage } from '../../ports/metrics/exposition.ts';
import { createRunMetrics } from '../../ports/metrics/run-metrics.ts';
import { parsePage, sumOf } from '../support/metrics.ts';

const text = 'text/plain; version=0.0.4; charset=utf-8';
const openMetrics = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
const tokens = { input: 5, output: 3, cached_read: 2, cached_write: 0, reasoning: 1 };
let registry: Registry;
let runs: ReturnType<typeof createRunMetrics>;
let activities: ReturnType<typeof createActivityMetrics>;

beforeEach(() => {
  registry = new Registry();
  runs = createRunMetrics({ providers: ['acme'], currency: 'EUR' });
  activities = createActivityMetrics(['acme']);
  collectDefaultMetrics({ register: registry });
  for (const metric of [...runs.all, ...activities.all]) registry.registerMetric(metric);
});

/** Accept headers, of Prometheus 2 and 3 among them, and what they are answered with. */
const accepts: readonly (readonly [string | undefined, string])[] = [
  [undefined, text],
  ['', text],
  ['*/*', text],
  ['text/html, */*;q=0.1', text],
  ['text/plain', text],
  ['application/openmetrics-text', openMetrics],
  ['Application/OpenMetrics-Text; Version="1.0.0"', openMetrics],
  ['application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.1', openMetrics],
  [
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1',
    openMetrics,
  ],
  ['application/openmetrics-text;q=0.4, text/plain;q=0.5', text],
  ['application/openmetrics-text;q=0.4, */*;q=0.5', text],
  ['application/openmetrics-text;q=0, */*;q=0.1', text],
  ['application/openmetrics-text; version=2.0.0', text],
  ['application/openmetrics-text;q=nonsense', text],
];

test.each(accepts)('Accept %p is answered with %p', async (accept, contentType) => {
  expect((await metricsPage(registry, accept)).contentType).toBe(contentType);
});

test('the parsers of Prometheus read both formats and find the same numbers in them', async () => {
  activities.modelCalled('acme', 'ok', 1.5);
  runs.measure({ kind: 'run_ended', status: 'succeeded', source: 'api', activeS: 0.3 });
  runs.measure({ kind: 'usage', provider: 'acme', tokens, cost: '0.250000000', aboveEstimate: '0.05', currency: 'EUR' });

  for (const accept of ['text/plain', 'application/openmetrics-text', 'text/plain']) {
    const { contentType, body } = await metricsPage(registry, accept);
    const samples = parsePage(body, contentType).flatMap((family) => family.samples);

    expect(sumOf(samples, 'longhaul_runs_ended_total', { status: 'succeeded', source: 'api' })).toBe(1);
    expect(sumOf(samples, 'longhaul_run_duration_seconds_sum')).toBeCloseTo(0.3);
    expect(sumOf(samples, 'longhaul_model_call_duration_seconds_bucket', { le: '2.5', outcome: 'ok' })).toBe(1);
    expect(sumOf(samples, 'longhaul_model_tokens_total', { provider: 'acme' })).toBe(11);
    expect(sumOf(samples, 'longhaul_model_cost_total', { currency: 'EUR' })).toBe(0.25);
    expect(sumOf(samples, 'longhaul_model_cost_above_estimate_total', { provider: 'acme' })).toBe(0.05);
    // The parser of the text format would add the suffix itself.
    expect(body).toContain('\nlonghaul_runs_ended_total{status="succeeded",source="api"} 1\n');
  }
});

test('a page of OpenMetrics names counters, bounds and its end as the standard says', async () => {
  activities.modelCalled('acme', 'ok', 1.5);
  const { body } = await metricsPage(registry, 'application/openmetrics-text');

  expect(body).toMatch(/^# TYPE longhaul_runs_ended counter$/m);
  expect(body).toContain('{le="1.0",');
  expect(body).not.toMatch(/le="\d+"/);
  expect(body.endsWith('\n# EOF\n')).toBe(true);
});

test('searches, deliveries, reviews and evaluations are counted by what came of them', async () => {
  runs.measure({ kind: 'search', searcher: 'run', outcome: 'degraded', afterS: 0.02 });
  runs.measure({ kind: 'delivery', status: 'started' });
  runs.measure({ kind: 'review_ended', outcome: 'reviewed', findings: { high: 2, nit: 1 } });
  runs.measure({ kind: 'evaluation_ended', status: 'succeeded', results: 10, errors: 3 });

  const { contentType, body } = await metricsPage(registry, undefined);
  const samples = parsePage(body, contentType).flatMap((family) => family.samples);
  const count = (name: string, labels: Record<string, string>) => sumOf(samples, name, labels);

  expect(count('longhaul_search_duration_seconds_count', { searcher: 'run', outcome: 'degraded' })).toBe(1);
  expect(count('longhaul_search_duration_seconds_bucket', { le: '0.025', searcher: 'run' })).toBe(1);
  expect(count('longhaul_deliveries_total', { status: 'started' })).toBe(1);
  expect(count('longhaul_reviews_ended_total', { outcome: 'reviewed' })).toBe(1);
  expect(['critical', 'high', 'nit'].map((severity) => count('longhaul_review_findings_total', { severity }))).toEqual([0, 2, 1]);
  expect(count('longhaul_evaluations_ended_total', { status: 'succeeded' })).toBe(1);
  expect(['scored', 'error'].map((outcome) => count('longhaul_evaluation_results_total', { outcome }))).toEqual([7, 3]);
});

test('what no label knows is other, whatever it is', async () => {
  activities.modelCalled('acme-of-a-tenant', 'weird', 1);
  activities.toolCalled('spell', 'fizzled', 1);
  activities.toolCalled(null, 'ok', 1);
  runs.measure({ kind: 'run_ended', status: 'failed', source: 'elsewhere', activeS: 1 });
  runs.measure({ kind: 'first_frame', source: 'elsewhere', afterS: 1 });
  runs.measure({ kind: 'delivery', status: 'elsewhere' });
  runs.measure({ kind: 'usage', provider: 'acme-of-a-tenant', tokens, cost: '1', aboveEstimate: '0', currency: 'XXX' });

  const { contentType, body } = await metricsPage(registry, undefined);
  const samples = parsePage(body, contentType).flatMap((family) => family.samples);

  for (const stranger of ['acme-of-a-tenant', 'weird', 'spell', 'fizzled', 'elsewhere', 'XXX']) expect(body).not.toContain(stranger);
  expect(sumOf(samples, 'longhaul_model_call_duration_seconds_count', { provider: 'other', outcome: 'other' })).toBe(1);
  expect(sumOf(samples, 'longhaul_tool_call_duration_seconds_count', { kind: 'other' })).toBe(2);
  expect(sumOf(samples, 'longhaul_runs_ended_total', { source: 'other' })).toBe(1);
  expect(sumOf(samples, 'longhaul_run_first_frame_seconds_count', { source: 'other' })).toBe(1);
  expect(sumOf(samples, 'longhaul_model_cost_total', { provider: 'other', currency: 'other' })).toBe(1);
});
