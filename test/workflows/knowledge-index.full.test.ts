import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { send, type EmbeddingServer } from '../fakes/embedding-server.ts';
import type { TestBudgets } from '../support/budgets.ts';
import type { Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { paid, startPaidStack, type PaidStack } from './paid-stack.ts';
import { testBase, words, type TestBase } from './knowledge-world.ts';

let deployment: PaidStack;
let server: EmbeddingServer;
let stack: Stack;
let budgets: TestBudgets;

beforeAll(async () => {
  deployment = await startPaidStack({ processes: ['worker-bulk'] });
  ({ server, stack, budgets } = deployment);
});
beforeEach(() => deployment.reset());
afterAll(() => deployment?.stop());

const isReady = (base: TestBase) => async () => Object.keys(await base.states()).join() === 'ready';
const inputs = () => deployment.inputs();

/** Counters and terms are what is really there, and every chunk of a base with a model has its vector. */
async function expectWhole(base: TestBase, { hasVectors = true } = {}): Promise<void> {
  const [counted] = await base.sql<{ chunks: number; tokens: number; lex_len: number; df: string }>(
    `select c.chunks, c.tokens, c.lex_len, (select coalesce(sum(df), 0) from knowledge_terms where kb_id = c.kb_id)::text as df from knowledge_base_counters c where c.kb_id = ?`,
    [base.id],
  );
  const [real] = await base.sql(
    `select count(*)::int as chunks, coalesce(sum(token_count), 0)::int as tokens, coalesce(sum(lex_len), 0)::int as lex_len,
            coalesce(sum(length(lexemes)), 0)::text as df from knowledge_chunks where kb_id = ?`,
    [base.id],
  );
  expect(counted).toEqual(real);
  const { chunks, vectors } = await base.counts();
  expect(vectors).toBe(hasVectors ? chunks : 0);
}

test.each([
  ['hash-v1', 1_024],
  ['none', 0],
])('pending items of a base with %s get chunks, terms, counters and vectors', async (id, dim) => {
  const base = await testBase(stack, { id, dim });
  await base.add([words('alpha', 40), words('beta', 40), '第一章。東京の天気は晴れです。']);
  await base.request();
  await until(isReady(base));

  await expectWhole(base, { hasVectors: dim > 0 });
  expect((await base.counts()).chunks).toBeGreaterThan(5);
  await base.add(['one more']);
  await base.request();
  await until(isReady(base));
  await expectWhole(base, { hasVectors: dim > 0 });
});

test('each call to a paid model is reserved, priced and billed once; a text that the organization has is not sent again', async () => {
  await budgets.day('10');
  const base = await testBase(stack, paid);
  await base.add([words('gamma', 30), words('gamma', 30)]);
  await base.request();
  await until(isReady(base));

  await expectWhole(base);
  expect(new Set(inputs()).size).toBe(inputs().length);
  const ledger = await base.ledger();
  expect(ledger).toHaveLength(server.calls.length);
  expect(ledger[0]).toMatchObject({ model: paid.id, source_kind: 'maintenance' });
  const tokens = inputs().reduce((sum, text) => sum + text.split(' ').length, 0);
  expect(ledger.reduce((sum, entry) => sum + Number(entry.input_tokens), 0)).toBe(tokens);
  const [day] = (await budgets.windows()).filter(({ name }) => name === 'day');
  expect(Number(day?.spent)).toBeCloseTo((tokens * 20) / 1e6, 9);
  expect(Number(day?.reserved)).toBe(0);

  const twin = await testBase(stack, paid);
  await twin.add([words('gamma', 30)]);
  const calls = server.calls.length;
  await twin.request();
  await until(isReady(twin));
  await expectWhole(twin);
  expect(server.calls).toHaveLength(calls);
});

test('while the provider is away the text is found by its words; then the rest is made', async () => {
  let refusals = 0;
  server.reply = (_call, response) => (refusals++ < 2 ? send(response, 429, {}, { 'retry-after': '1' }) : false);
  const base = await testBase(stack, paid);
  await base.add([words('delta', 20)]);
  await base.request();
  await until(async () => (await base.counts()).chunks > 0);
  await until(isReady(base));

  expect(refusals).toBeGreaterThan(2);
  await expectWhole(base);
});

test('a worker that is killed in the middle leaves the same in the end, and nothing is billed twice', async () => {
  await budgets.day('10');
  const base = await testBase(stack, paid);
  await base.add(Array.from({ length: 6 }, (_, at) => words(`epsilon${at}x`, 20)));
  server.reply = () => server.calls.length >= 3; // the third call hangs
  await base.request();
  await until(() => server.calls.length >= 3);
  await stack.kill('worker-bulk');
  server.reply = null;
  await stack.start('worker-bulk');
  await until(isReady(base));

  await expectWhole(base);
  const { chunks } = await base.counts();
  expect(inputs().length).toBeLessThanOrEqual(chunks + 256);
  const ledger = await base.ledger();
  expect(new Set(ledger.map(({ call_key }) => call_key)).size).toBe(ledger.length);
  const distinct = [...new Set(inputs())].reduce((sum, text) => sum + text.split(' ').length, 0);
  expect(ledger.reduce((sum, entry) => sum + Number(entry.input_tokens), 0)).toBe(distinct);
});

test('a spent budget stops the calls, and not the words; with more money the rest is made', async () => {
  await budgets.day('0');
  const base = await testBase(stack, paid);
  await base.add([words('zeta', 20)]);
  await base.request();
  await until(async () => (await base.counts()).chunks > 0);
  await new Promise((resolve) => setTimeout(resolve, 500));

  expect(server.calls).toHaveLength(0);
  expect(await base.states()).toEqual({ pending: 1 });
  await budgets.day('10');
  await base.request();
  await until(isReady(base));
  await expectWhole(base);
});

test('a text that the provider refuses fails its item alone', async () => {
  server.reply = (call, response) => (call.body.input.some((text) => text.includes('poison')) ? send(response, 400, {}) : false);
  const base = await testBase(stack, paid);
  const [, bad] = await base.add([words('eta', 10), 'poison', words('theta', 10)]);
  await base.request();
  await until(async () => (await base.states())['failed'] === 1 && (await base.states())['ready'] === 2);

  expect(await base.sql('select id, index_error from knowledge_items where kb_id = ? and index_state = ?', [base.id, 'failed'])).toEqual([
    { id: bad, index_error: 'embedding_refused' },
  ]);
  expect((await base.counts()).vectors).toBe((await base.counts()).chunks - 1);
});

test('another language lexes all anew and pays for nothing', async () => {
  const base = await testBase(stack, paid);
  await base.add([`${words('iota', 20)} running quickly`]);
  await base.request();
  await until(isReady(base));
  const calls = server.calls.length;
  await base.sql(`delete from knowledge_embedding_cache where organization_id = ?`, [stack.tenant.organizationId]);
  await base.sql(`update knowledge_bases set retrieval = jsonb_set(retrieval, '{language}', '"none"') where id = ?`, [base.id]);
  await base.sql(`update knowledge_items set index_state = 'pending' where kb_id = ?`, [base.id]);
  await base.request();
  await until(isReady(base));

  await expectWhole(base);
  expect(server.calls).toHaveLength(calls);
  expect(await base.sql(`select from knowledge_terms where kb_id = ? and lexeme = 'running'`, [base.id])).toHaveLength(1);
});
