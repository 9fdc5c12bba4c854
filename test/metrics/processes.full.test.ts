import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ScriptStep } from '../fakes/model-script.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { priceCall } from '../support/budgets.ts';
import { parsePage, samplesOf, sumOf } from '../support/metrics.ts';
import { endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startEffectServer, startRun, writeTool, type EffectServer } from '../support/scenario.ts';
import { startStack, type ProcessName, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { documented, type MetricRow } from './documented.ts';

const processes = ['api', 'worker-runs', 'worker-bulk'] as const satisfies readonly ProcessName[];
let models: ModelServer;
let effects: EffectServer;
let mailDir: string;
let stack: Stack;
let agentId: string;

beforeAll(async () => {
  models = await startModelServer();
  effects = await startEffectServer();
  mailDir = mkdtempSync(join(tmpdir(), 'longhaul-metrics-'));
  stack = await startStack({ processes, modelBaseUrl: models.baseUrl, egressPorts: [effects.port], env: { MAIL_DIR: mailDir } });
  await priceCall(stack.db, 'compatible/scripted', '0.25');
  const forbidden = { slug: 'forbidden', config: { method: 'POST', url: 'https://localhost/nothing' } };
  agentId = (await makeAgent(stack, [writeTool('note', effects), writeTool('forbidden', effects, forbidden)])).id;
});

afterAll(async () => {
  await stack?.stop();
  effects?.close();
  await models?.close();
  rmSync(mailDir, { recursive: true, force: true });
});

async function scrape(name: ProcessName, accept = 'text/plain'): Promise<{ readonly page: string; readonly type: string }> {
  // A connection of its own: one that is kept may be closed over there just when it is taken again.
  const headers = { authorization: 'Bearer metrics-token-of-the-tests', accept, connection: 'close' };
  const answer = await fetch(`${stack.url(name)}/metrics`, { headers });
  expect(answer.status).toBe(200);
  return { page: await answer.text(), type: answer.headers.get('content-type') ?? '' };
}

type Labels = Readonly<Record<string, string>>;
type Change = readonly [amount: number, name: string, labels: Labels];

/** The sums over all processes. */
async function totals(changes: readonly Change[]): Promise<number[]> {
  const pages = await Promise.all(processes.map((name) => scrape(name)));
  const samples = pages.flatMap(({ page }) => samplesOf(page));
  return changes.map(([, name, labels]) => sumOf(samples, name, labels));
}

/** Does the work and waits for what it adds to the metrics: it is counted a moment after the commit that clients see. */
async function adds(changes: readonly Change[], work: () => Promise<unknown>): Promise<void> {
  const before = await totals(changes);
  await work();

  let added: number[] = [];
  await until(async () => {
    added = (await totals(changes)).map((total, index) => total - (before[index] ?? 0));
    return changes.every(([amount], index) => (added[index] ?? 0) >= amount);
  }).catch(() => undefined);
  expect(changes.map(([, name, labels], index) => [name, labels, Math.round((added[index] ?? 0) * 1e6) / 1e6])).toEqual(
    changes.map(([amount, name, labels]) => [name, labels, amount]),
  );
}

const bulk = async (name: string, labels: Labels = {}) => sumOf(samplesOf((await scrape('worker-bulk')).page), name, labels);

async function play(steps: readonly ScriptStep[]): Promise<string> {
  const run = await startRun(stack, agentId, scripted({ steps }, `Play ${crypto.randomUUID()}.`));
  await endOf(watchRun(stack, run.id));
  return run.id;
}

const usage = {
  prompt_tokens: 100,
  completion_tokens: 40,
  total_tokens: 140,
  prompt_tokens_details: { cached_tokens: 30 },
  completion_tokens_details: { reasoning_tokens: 15 },
};
const provider = 'compatible';
const succeeded = { status: 'succeeded', source: 'api' };
/** What one run of two model calls with a tool between them adds, and no more. */
const oneRun: readonly Change[] = [
  [1, 'longhaul_runs_ended_total', succeeded],
  [1, 'longhaul_run_duration_seconds_count', succeeded],
  [1, 'longhaul_run_first_frame_seconds_count', { source: 'api' }],
  [2, 'longhaul_model_call_duration_seconds_count', { provider, outcome: 'ok' }],
  [1, 'longhaul_tool_call_duration_seconds_count', { kind: 'http', outcome: 'ok' }],
  [140, 'longhaul_model_tokens_total', { provider, bucket: 'input' }],
  [60, 'longhaul_model_tokens_total', { provider, bucket: 'cached_read' }],
  [50, 'longhaul_model_tokens_total', { provider, bucket: 'output' }],
  [30, 'longhaul_model_tokens_total', { provider, bucket: 'reasoning' }],
  [0.5, 'longhaul_model_cost_total', { provider, currency: 'USD' }],
];

test('a run adds itself, its calls, tokens and cost once over all processes', async () => {
  await adds(oneRun, () =>
    play([
      { tool_calls: [{ name: 'note', arguments: { n: 1 } }], usage },
      { text: 'Noted.', usage },
    ]),
  );
});

test('failures of providers and tools are told by their kind', async () => {
  const failures: readonly Change[] = [
    [1, 'longhaul_model_call_duration_seconds_count', { provider, outcome: 'unavailable' }],
    [1, 'longhaul_model_call_duration_seconds_count', { provider, outcome: 'auth_refused' }],
    [1, 'longhaul_tool_call_duration_seconds_count', { kind: 'http', outcome: 'egress_refused' }],
    [1, 'longhaul_runs_ended_total', { status: 'failed', source: 'api' }],
  ];

  await adds(failures, async () => {
    const faults = [{ kind: 'status', status: 503 }] as const;
    await play([{ tool_calls: [{ name: 'forbidden', arguments: { n: 1 } }] }, { text: 'Refused.', faults }]);
    await play([{ text: 'Never.', fault: { kind: 'status', status: 401 } }]);
  });
});

test('a run that is cancelled before its time has ended, and was never at work', async () => {
  const changes: readonly Change[] = [
    [1, 'longhaul_runs_ended_total', { status: 'cancelled', source: 'api' }],
    [0, 'longhaul_run_duration_seconds_count', { status: 'cancelled' }],
  ];
  const later = new Date(Date.now() + 3_600_000).toISOString();

  await adds(changes, async () => {
    const { body } = await stack.request('POST', '/runs', { body: { agent_id: agentId, input: { text: 'Later.' }, start_after: later } });
    const { id } = body as { id: string }; // a RunView
    await until(async () => (await bulk('longhaul_runs_live', { status: 'queued' })) === 1);
    expect(await bulk('longhaul_queue_oldest_seconds')).toBe(0);
    await stack.request('POST', `/runs/${id}/cancel`, { body: {} });
  });
  await until(async () => (await bulk('longhaul_runs_live')) === 0);
});

test('runs at work and the age of those that nobody takes are told by the bulk worker alone', async () => {
  const hung = await startRun(
    stack,
    agentId,
    scripted({ steps: [{ text: 'Late.', first_token_ms: 600_000 }] }, `Hang ${crypto.randomUUID()}.`),
  );
  await until(async () => (await bulk('longhaul_runs_live', { status: 'running', source: 'api' })) === 1);
  expect(await bulk('longhaul_queue_oldest_seconds')).toBe(0);

  await stack.kill('worker-runs', 'SIGSTOP');
  const queued = await startRun(stack, agentId, scripted({ steps: [{ text: 'Done.' }] }, `Wait ${crypto.randomUUID()}.`));
  await until(async () => (await bulk('longhaul_queue_oldest_seconds', { queue: 'runs', priority: '3' })) > 1);
  expect(await bulk('longhaul_queue_oldest_seconds', { priority: '1' })).toBe(0);
  await stack.kill('worker-runs', 'SIGCONT');

  await endOf(watchRun(stack, queued.id));
  await until(async () => (await bulk('longhaul_queue_oldest_seconds')) === 0);
  await stack.request('POST', `/runs/${hung.id}/cancel`, { body: {} });
  await endOf(watchRun(stack, hung.id));
});

test('a delivery, a search and an evaluation are counted by what came of them', async () => {
  const slug = `hook-${crypto.randomUUID().slice(0, 8)}`;
  const hook = await stack.request('POST', '/webhook-endpoints', { body: { agent_id: agentId, slug, verification: 'none' } });
  expect(hook.status).toBe(201);
  const base = await stack.request('POST', '/knowledge-bases', {
    body: { slug, name: 'Base', embedding_model: 'hash-v1', scope: 'workspace' },
  });
  const { id: baseId } = base.body as { id: string };
  const changes: readonly Change[] = [
    [1, 'longhaul_deliveries_total', { status: 'started' }],
    [1, 'longhaul_search_duration_seconds_count', { searcher: 'caller', outcome: 'nothing' }],
    [1, 'longhaul_evaluations_ended_total', { status: 'succeeded' }],
    [1, 'longhaul_evaluation_results_total', { outcome: 'scored' }],
    [0, 'longhaul_evaluation_results_total', { outcome: 'error' }],
  ];

  await adds(changes, async () => {
    const body = scripted({ steps: [{ text: 'Done.' }] }, 'Go.');
    const sent = await stack.request('POST', `/hooks/${stack.tenant.workspaceId}/${slug}` as never, { body: { text: body } });
    expect(sent.status).toBeLessThan(300);
    const searched = await stack.request('POST', `/knowledge-bases/${baseId}/search`, { body: { query: 'anything', mode: 'lexical' } });
    expect(searched.status).toBe(200);
    const dataset = { items: [{ id: 'one', input: scripted({ steps: [{ text: 'yes' }] }, 'Say yes.'), expected: 'yes' }] };
    const asked = { agent_id: agentId, dataset, evaluators: [{ key: 'exact', type: 'exact_match' }] };
    expect((await stack.request('POST', '/evaluations', { body: asked })).status).toBe(201);
  });
});

test('a mail is counted when it has been tried', async () => {
  await adds([[1, 'longhaul_mail_tries_total', { result: 'sent' }]], () =>
    stack.request('POST', '/auth/password/forgot', { body: { email: stack.tenant.users.member.email } }),
  );
  await until(async () => (await bulk('longhaul_mails_waiting')) === 0);
});

test('each process serves what the list says of it, with those types and labels and a help text', async () => {
  const toldBy: Record<MetricRow['toldBy'], readonly ProcessName[]> = {
    all: processes,
    API: ['api'],
    workers: ['worker-runs', 'worker-bulk'],
    bulk: ['worker-bulk'],
  };
  for (const name of processes) {
    const { page, type } = await scrape(name, 'application/openmetrics-text');
    const families = parsePage(page, type).filter(
      (family) => !/^(?:process|nodejs)_/.test(family.name) || family.name === 'nodejs_eventloop_lag_seconds',
    );
    const expected = documented().filter((row) => toldBy[row.toldBy].includes(name));

    // OpenMetrics calls a counter by its name without the suffix.
    const names = families.map((family) => (family.type === 'counter' ? `${family.name}_total` : family.name));
    expect([name, names.toSorted()]).toEqual([name, expected.map((row) => row.name).toSorted()]);
    for (const [index, family] of families.entries()) {
      const row = expected.find((one) => one.name === names[index]);
      expect([family.name, family.type]).toEqual([family.name, row?.type]);
      expect(family.help.length).toBeGreaterThan(10);
      for (const { labels } of family.samples)
        expect([
          family.name,
          Object.keys(labels)
            .filter((label) => label !== 'le')
            .toSorted(),
        ]).toEqual([family.name, row?.labels.toSorted()]);
    }
  }
});

test('no label holds an id or a slug of a tenant, in either format', async () => {
  const { organizationId, workspaceId, serviceKey } = stack.tenant;
  for (const name of processes)
    for (const accept of ['text/plain', 'application/openmetrics-text']) {
      const { page, type } = await scrape(name, accept);
      const labels = parsePage(page, type).flatMap(({ samples }) => samples.flatMap((sample) => Object.entries(sample.labels)));
      expect(
        labels.map(([label]) => label).filter((label) => /(?:^|_)id$|run|user|key|organization|workspace|tenant|agent/.test(label)),
      ).toEqual([]);

      const values = [...new Set(labels.map(([, value]) => value))];
      expect(values.filter((value) => /[0-9a-f]{8}|[0-9a-f-]{20,}/i.test(value))).toEqual([]);
      for (const own of [organizationId, workspaceId, serviceKey.id, agentId, 'note', 'forbidden']) expect(values).not.toContain(own);
    }
});
