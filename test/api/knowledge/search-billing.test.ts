import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { send, startEmbeddingServer, type EmbeddingServer } from '../../fakes/embedding-server.ts';
import { registryFile } from '../../ports/embeddings/registry.ts';
import { testBudgets, type TestBudgets } from '../../support/budgets.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { until } from '../../support/temporal.ts';
import { openWorld, type World } from '../world.ts';
import { add, baseOf, execute } from './search-fixture.ts';

const model = 'acme/paid';
let server: EmbeddingServer;
let world: World;
let tenant: TestTenant;
let budgets: TestBudgets;
let kbId: string;
/** Entries of the tests before. */
let billed = 0;

beforeAll(async () => {
  server = await startEmbeddingServer(8);
  const registry = registryFile(server.baseUrl, [{ name: 'paid', dim: 8, max_tokens: 512, max_batch: 4 }]);
  world = await openWorld({ env: { LONGHAUL_MODEL_REGISTRY: registry, ACME_API_KEY: 'k' } });
  tenant = await world.tenant();
  budgets = testBudgets(world.api.db, tenant);
  await execute(
    world,
    `insert into model_prices (id, model, tier, bucket, unit, price, currency, effective_from) values (?, ?, 'standard', 'input', '1m_tokens', 20, 'USD', now() - interval '1 minute')`,
    [newId(), model],
  );
  kbId = await baseOf(world, tenant);
  await add(world, tenant.tokens.member, kbId, { content: 'Owls hunt at night.' });
  await execute(world, 'update knowledge_bases set embedding_model = ?, embedding_dim = 8 where id = ?', [model, kbId]);
});
beforeEach(async () => {
  server.reply = null;
  server.calls.length = 0;
  await budgets.day(null);
  billed = (await ledger()).length;
});
afterAll(async () => {
  await world?.close();
  await server?.close();
});

const search = (mode: string) =>
  world.call(tenant.tokens.viewer, 'POST', `/knowledge-bases/${kbId}/search`, { body: { query: 'owls at night', mode } });
const ledger = () =>
  sweep(world.api.db, (em) =>
    rows<{ source_kind: string; kind: string; model: string; input_tokens: string; cost: string }>(
      em,
      'select source_kind, kind, model, input_tokens::text, cost::text from usage_entries where workspace_id = ? order by id',
      [tenant.workspaceId],
    ),
  );
const reasonsOf = ({ body }: Awaited<ReturnType<typeof search>>) => body.degraded.map(({ reason }: { reason: string }) => reason);

test('the query of a paid model is reserved, billed to the search, and spends the budget; words alone cost nothing', async () => {
  await budgets.day('10');

  const found = await search('hybrid');
  const plain = await search('lexical');

  expect([found.status, plain.status]).toEqual([200, 200]);
  expect(found.body.hits).toHaveLength(1);
  expect(server.calls.map(({ body }) => body.input)).toEqual([['owls at night']]);
  expect((await ledger()).slice(billed)).toEqual([
    { source_kind: 'search', kind: 'embedding', model, input_tokens: '3', cost: '0.000060000' },
  ]);
  expect((await budgets.windows())[0]).toMatchObject({ spent: '0.00006', reserved: '0' });
});

test('a spent budget leaves the words to find it, says so, and refuses a search by vectors alone: 402', async () => {
  await budgets.day('0.000000001');

  const [hybrid, vector] = [await search('hybrid'), await search('vector')];

  expect(hybrid.status).toBe(200);
  expect(reasonsOf(hybrid)).toContain('budget');
  expect(hybrid.body.hits).toHaveLength(1);
  expect(vector).toMatchObject({ status: 402, body: { code: 'budget_exceeded' } });
  expect(server.calls).toEqual([]);
  expect((await ledger()).slice(billed)).toEqual([]);
});

test('a provider that fails or says nothing leaves the words to find it, and bills nothing: 502, 504', async () => {
  server.reply = (_, response) => send(response, 500, {});
  const [hybrid, vector] = [await search('hybrid'), await search('vector')];
  server.reply = () => new Promise(() => undefined);
  const [late, lateVector] = await Promise.all([search('hybrid'), search('vector')]);

  expect(reasonsOf(hybrid)).toContain('provider_failed');
  expect(vector).toMatchObject({ status: 502, body: { code: 'upstream_failed' } });
  expect(reasonsOf(late)).toContain('provider_timeout');
  expect(late.body.hits).toHaveLength(1);
  expect(lateVector).toMatchObject({ status: 504, body: { code: 'upstream_timeout' } });
  expect((await ledger()).slice(billed)).toEqual([]);
});

test('what a search gives is noted as used, at most once a day an item', async () => {
  const usedAt = async () =>
    (
      await sweep(world.api.db, (em) =>
        rows<{ at: string | null }>(em, 'select last_used_at::text as at from knowledge_items where kb_id = ?', [kbId]),
      )
    )[0]?.at;
  await execute(world, 'update knowledge_items set last_used_at = null where kb_id = ?', [kbId]);
  await search('lexical');
  await until(async () => typeof (await usedAt()) === 'string');
  const recent = `now() - interval '23 hours'`;
  await execute(world, `update knowledge_items set last_used_at = ${recent} where kb_id = ?`, [kbId]);
  const before = await usedAt();

  await search('lexical');
  await search('lexical');

  expect(await usedAt()).toBe(before);
});
