import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { send } from '../fakes/embedding-server.ts';
import { knowledgeCalls } from '../support/knowledge.ts';
import { freePort, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { words } from './knowledge-world.ts';
import { paid, startPaidStack, type PaidStack } from './paid-stack.ts';

let site: Server;
let port: number;
let deployment: PaidStack;
let stack: Stack;
let page = '<html><head><title>Lock</title></head><body><h1>Lock</h1><p>The lock opens at noon.</p></body></html>';
const { asked, sql, endOf } = knowledgeCalls(() => stack);

beforeAll(async () => {
  port = await freePort();
  site = createServer((_, reply) => reply.setHeader('content-type', 'text/html').end(page)).listen(port, '127.0.0.1');
  deployment = await startPaidStack({ processes: ['api', 'worker-bulk'], egressPorts: [port] });
  ({ stack } = deployment);
});
beforeEach(() => deployment.reset());
afterAll(async () => {
  await deployment?.stop();
  site?.close();
});

interface Source {
  readonly id: string;
  readonly run_id: string;
}

/** Of 64 tokens a chunk, and so of several calls for a long text. */
const base = async () =>
  (await knowledgeCalls(() => stack).makeBase({ embedding_model: paid.id, chunking: { size_tokens: 64, overlap_tokens: 0 } })).id;
const add = (kbId: string, body: unknown) => asked<Source>('POST', `/knowledge-bases/${kbId}/sources`, body);

/** What the ledger says that a run has cost. */
async function billed(runId: string): Promise<number> {
  const [found] = await sql<{ cost: string }>(
    `select coalesce(sum(cost), 0) as cost from usage_entries where source_id = ? and source_kind = 'maintenance'`,
    [runId],
  );
  return Number(found?.cost);
}

async function costOf(runId: string): Promise<{ spent: number; ledger: number }> {
  const { cost } = await asked<{ cost: { spent: string } }>('GET', `/knowledge-maintenance-runs/${runId}`);
  return { spent: Number(cost.spent), ledger: await billed(runId) };
}

const times = { started_at: expect.any(String), finished_at: expect.any(String), paused_reason: null };

test('an ingestion that is published ends like every run: with its times, what it came to, and what it has cost', async () => {
  const source = await add(await base(), { text: words(newId().slice(-8), 30) });

  const run = await endOf(source.run_id);

  const [{ n } = { n: 0 }] = await sql<{ n: number }>('select item_count as n from knowledge_sources where id = ?', [source.id]);
  expect(run).toMatchObject({ ...times, status: 'succeeded', errors: [], error_count: 0, counts: { items: n } });
  expect(run.progress).toEqual({ stage: 'ready', done: n, total: n });
  const { spent, ledger } = await costOf(source.run_id);
  expect(spent).toBeGreaterThan(0);
  expect(spent).toBeCloseTo(ledger, 8);
});

test('one that finds the bytes of the last sync ends the same way and has cost nothing', async () => {
  const source = await add(await base(), { url: `http://127.0.0.1:${port}/lock` });
  await endOf(source.run_id);

  const again = await asked<Source>('POST', `/knowledge-sources/${source.id}/sync`);
  const run = await endOf(again.run_id);

  expect(run).toMatchObject({ ...times, status: 'succeeded', errors: [], error_count: 0, result: { unchanged: true } });
  expect(run.progress).toEqual({ stage: 'ready', done: 1, total: 1 });
  expect(await costOf(again.run_id)).toEqual({ spent: 0, ledger: 0 });
  page = page.replace('noon', 'dawn');
  const changed = await asked<Source>('POST', `/knowledge-sources/${source.id}/sync`);
  await endOf(changed.run_id);
  expect((await costOf(changed.run_id)).spent).toBeGreaterThan(0);
});

test('one that fails lists what made it fail, and has cost what was sent before', async () => {
  let answered = 0;
  deployment.server.reply = (_, response) => (answered++ === 0 ? false : send(response, 400, { error: { message: 'no' } }));

  const source = await add(await base(), { text: words(newId().slice(-8), 30) });
  const run = await endOf(source.run_id);

  const error = { code: expect.stringMatching(/^embedding_/v), stage: 'indexing' };
  expect(run).toMatchObject({ ...times, status: 'failed', result: null, error_count: 1, errors: [{ ...error, source_id: source.id }] });
  expect(await asked('GET', `/knowledge-sources/${source.id}`)).toMatchObject({ state: 'failed', error });
  const { spent, ledger } = await costOf(source.run_id);
  expect(spent).toBeGreaterThan(0);
  expect(spent).toBeCloseTo(ledger, 8);
});

test('one that is cancelled while it waits for a budget ends cancelled, without an error', async () => {
  await deployment.budgets.day('0');
  const source = await add(await base(), { text: 'The bridge carries ninety tonnes.' });
  await until(async () => (await sql(`select from knowledge_runs where id = ? and status = 'paused'`, [source.run_id])).length === 1);

  await asked('POST', `/knowledge-maintenance-runs/${source.run_id}/cancel`);
  const run = await endOf(source.run_id);

  expect(run).toMatchObject({ ...times, status: 'cancelled', errors: [], error_count: 0, result: null });
  expect(await asked('GET', `/knowledge-sources/${source.id}`)).toMatchObject({ state: 'failed', error: { code: 'cancelled' } });
  expect(await costOf(source.run_id)).toEqual({ spent: 0, ledger: 0 });
});
