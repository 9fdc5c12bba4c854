import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { buildVectorIndex, dropVectorIndex } from '../../db/knowledge/search/build-vector-index.ts';
import { lockBaseToWrite } from '../../db/knowledge/items/item-base.ts';
import { vectorIndexName } from '../../db/knowledge/search/vector-index.ts';
import { systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { send, type EmbeddingServer } from '../fakes/embedding-server.ts';
import type { TestBudgets } from '../support/budgets.ts';
import type { Stack } from '../support/stack.ts';
import { withAdmin } from '../support/template.ts';
import { until } from '../support/temporal.ts';
import { paid, startPaidStack, type PaidStack } from './paid-stack.ts';
import { holdStatements } from '../support/held-statements.ts';
import { leftOf, pictureOf, reembedWorld, startedReembed, type ReembedWorld } from './reembed-world.ts';

let deployment: PaidStack;
let server: EmbeddingServer;
let stack: Stack;
let world: ReembedWorld;
let budgets: TestBudgets;

beforeAll(async () => {
  deployment = await startPaidStack({ processes: ['api', 'worker-bulk'] });
  ({ server, stack, budgets } = deployment);
  world = reembedWorld(stack);
});
beforeEach(() => deployment.reset());
afterAll(() => deployment?.stop());

async function filledBase(
  texts: readonly string[] = ['The first pump is blue.', 'The second pump is red.'],
): Promise<{ kbId: string; ids: string[] }> {
  const kbId = await world.makeBase('none');
  return {
    kbId,
    ids: await world.addItems(
      kbId,
      texts.map((content) => ({ content: `${content} ${newId().slice(-8)}` })),
    ),
  };
}

async function expectAsBefore(kbId: string, target: string, before: unknown): Promise<void> {
  expect(await leftOf(world, target)).toEqual({});
  expect(await pictureOf(world, kbId)).toEqual(before);
  expect(await world.sql('select is_frozen, successor_id from knowledge_bases where id = ?', [kbId])).toEqual([
    { is_frozen: false, successor_id: null },
  ]);
}

const refusal = async (method: string, path: string, body?: unknown) => {
  const reply = await stack.request(method, path, body === undefined ? {} : { body });
  const { context } = reply.body as { context?: { reason?: string } };
  return [reply.status, context?.reason];
};

test('while a base is built the old one is read and refuses writes, the new one is hidden, and an ingestion at once is refused', async () => {
  const { kbId, ids } = await filledBase();
  server.reply = () => true; // never answers
  const found = await world.search(kbId, 'pump');
  const { runId, target } = await startedReembed(world, kbId, paid.id);

  expect(await refusal('POST', `/knowledge-bases/${kbId}/items`, { content: 'new' })).toEqual([423, 'reembed_in_progress']);
  expect(await refusal('PATCH', `/knowledge-items/${ids[0] ?? ''}`, { content: 'other' })).toEqual([423, 'reembed_in_progress']);
  expect(await refusal('POST', `/knowledge-bases/${kbId}/sources`, { text: 'a text' })).toEqual([423, 'reembed_in_progress']);
  expect(await refusal('DELETE', `/knowledge-bases/${kbId}`)).toEqual([409, 'run_in_progress']);
  expect(await refusal('PATCH', `/knowledge-bases/${kbId}`, { is_frozen: false })).toEqual([409, 'reembed_in_progress']);
  expect(await refusal('POST', `/knowledge-bases/${target}/search`, { query: 'pump' })).toEqual([409, 'reembed_in_progress']);
  expect(await world.search(kbId, 'pump')).toEqual(found);
  const listed = await world.asked<{ items: { id: string }[] }>('GET', '/knowledge-bases?limit=200');
  expect(listed.items.map(({ id }) => id)).toContain(kbId);
  expect(listed.items.map(({ id }) => id)).not.toContain(target);
  expect(await world.asked('GET', `/knowledge-bases/${target}`)).toMatchObject({ item_count: 0, is_frozen: true });
  expect(await world.asked<{ items: unknown[] }>('GET', `/knowledge-bases/${target}/items`)).toMatchObject({ items: [] });
  await world.asked('POST', `/knowledge-maintenance-runs/${runId}/cancel`);
  expect((await world.ended(runId)).status).toBe('cancelled');
});

test('of a cancelled re-embed nothing stays; its slug is free and the base takes writes again', async () => {
  const { kbId } = await filledBase();
  const before = await pictureOf(world, kbId);
  server.reply = () => true;
  const { runId, target } = await startedReembed(world, kbId, paid.id);
  const [built] = await world.sql<{ slug: string }>('select slug from knowledge_bases where id = ?', [target]);
  await until(async () => (await world.run(runId)).progress.stage === 'embedding');

  await world.asked('POST', `/knowledge-maintenance-runs/${runId}/cancel`);

  expect((await world.ended(runId)).status).toBe('cancelled');
  await expectAsBefore(kbId, target, before);
  expect(await refusal('POST', `/knowledge-maintenance-runs/${runId}/cancel`)).toEqual([409, 'already_terminal']);
  await world.makeBase('none', { slug: built?.slug });
  await world.addItems(kbId, [{ content: 'written afterwards' }]);
});

test('a text that the model refuses fails the run and names its item; the policy lets it go without', async () => {
  const { kbId, ids } = await filledBase(['fine', 'poison', 'fine too']);
  const before = await pictureOf(world, kbId);
  server.reply = (call, response) => (call.body.input.some((text) => text.includes('poison')) ? send(response, 400, {}) : false);

  const failed = await world.reembed(kbId, paid.id);

  expect(failed.status).toBe(201);
  expect(await world.ended(failed.runId)).toMatchObject({ status: 'failed', errors: [{ code: 'embedding_refused', item_id: ids[1] }] });
  await expectAsBefore(kbId, failed.body.id, before);
  await world.sql(
    `insert into knowledge_policies (kb_id, organization_id, workspace_id, allow_missing_embeddings) select id, organization_id, workspace_id, true from knowledge_bases where id = ?`,
    [kbId],
  );
  const granted = await world.reembed(kbId, paid.id);
  expect(await world.ended(granted.runId)).toMatchObject({
    status: 'succeeded',
    errors: [{ code: 'embedding_refused', item_id: ids[1] }],
    result: { chunks: 3, vectors: 2 },
  });
  expect(
    await world.sql('select index_state, count(*)::int as n from knowledge_items where kb_id = ? group by 1 order by 1', [granted.body.id]),
  ).toEqual([
    { index_state: 'failed', n: 1 },
    { index_state: 'ready', n: 2 },
  ]);
});

/** Two items with a link between them. */
async function linkedBase(): Promise<string> {
  const { kbId, ids } = await filledBase();
  await world.asked('POST', `/knowledge-items/${ids[0] ?? ''}/relations`, { to_item_id: ids[1], type: 'related' });
  return kbId;
}

const copyOfItem = `insert into knowledge_items (id, kb_id, organization_id, workspace_id, kind, content, content_hash, origin, trust, curation_state, index_state, created_by)
  select gen_random_uuid(), kb_id, organization_id, workspace_id, kind, content, content_hash, origin, trust, curation_state, 'ready', created_by from knowledge_items`;

test.each([
  ['has another item', `update knowledge_items set content_hash = 'other' where kb_id = $1`],
  ['has one item more', `${copyOfItem} where kb_id = $1 limit 1`],
  ['misses a chunk', `delete from knowledge_chunks where id = (select min(id::text)::uuid from knowledge_chunks where kb_id = $1)`],
  ['has another chunk', `update knowledge_chunks set content_hash = 'other' where kb_id = $1`],
  ['misses a vector', 'delete from knowledge_vectors where kb_id = $1'],
  ['has a vector of another model', `update knowledge_vectors set embedding_model = 'other' where kb_id = $1`],
])('a base that %s does not take the place of the old one', async (_, plant) => {
  const kbId = await linkedBase();
  const before = await pictureOf(world, kbId);
  // All but its links is copied by then.
  const held = await holdStatements(stack.adminUrl, { table: 'knowledge_relations', event: 'insert' });
  const { runId, target } = await startedReembed(world, kbId, 'hash-v1');
  await held.reached();
  await withAdmin(stack.adminUrl, async (admin) => {
    // No model but the base's own passes the foreign key.
    if (plant.includes('embedding_model')) await admin.query("set session_replication_role = 'replica'");
    expect((await admin.query(plant, [target])).rowCount).toBeGreaterThan(0);
  });
  await held.letGo();

  expect(await world.ended(runId)).toMatchObject({ status: 'failed', errors: [{ code: 'copy_mismatch' }] });
  await expectAsBefore(kbId, target, before);
});

test.each([
  ['misses a relation', 'null'],
  ['has another relation', 'new'],
])('a base that %s does not take the place of the old one', async (_, kept) => {
  const kbId = await linkedBase();
  const before = await pictureOf(world, kbId);
  const created = `create function test_plant() returns trigger language plpgsql as $$ begin new.type := 'part_of'; return ${kept}; end $$;
    create trigger test_plant before insert on knowledge_relations for each row execute function test_plant()`;
  await withAdmin(stack.adminUrl, (admin) => admin.query(created));

  const { runId, target } = await startedReembed(world, kbId, 'hash-v1');
  const run = await world.ended(runId);
  await withAdmin(stack.adminUrl, (admin) => admin.query('drop trigger test_plant on knowledge_relations; drop function test_plant()'));

  expect(run).toMatchObject({ status: 'failed', errors: [{ code: 'copy_mismatch' }] });
  await expectAsBefore(kbId, target, before);
});

test('whoever waits for the lock of a base that cuts over has the rights that have gone to the new one', async () => {
  const { kbId } = await filledBase();
  const { organizationId, workspaceId } = stack.tenant;
  await world.asked('PATCH', `/knowledge-bases/${kbId}`, { is_private: true });
  const agentId = newId();
  await withAdmin(stack.adminUrl, (admin) =>
    admin.query(
      `insert into knowledge_grants (id, kb_id, organization_id, workspace_id, principal_kind, principal_id, access)
       select gen_random_uuid(), $1, $2, $3, kind, id, access from (values ('agent', $4::uuid, 'write'), ('workspace', $3, 'manage')) as g (kind, id, access)`,
      [kbId, organizationId, workspaceId, agentId],
    ),
  );
  const when = 'new.activated_at is not null and old.activated_at is null';
  const held = await holdStatements(stack.adminUrl, { table: 'knowledge_bases', event: 'update', when });
  const { target } = await startedReembed(world, kbId, 'hash-v1');
  await held.reached();

  const write = refusal('POST', `/knowledge-bases/${kbId}/items`, { content: 'new' });
  const tenant = workspaceTenant(organizationId, workspaceId);
  const run = { organizationId, workspaceId, agentId, personaId: null, subject: null, bindings: [] };
  const agent = transact(stack.db, { tenant, actor: systemActor, correlationId: newId() }, (tx) => lockBaseToWrite(tx, run, kbId));
  await until(async () => {
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event in ('transactionid', 'tuple')`;
    return (await withAdmin(stack.adminUrl, (admin) => admin.query(waiting))).rows.length === 2;
  });
  await held.letGo();

  expect(await write).toEqual([423, 'superseded']);
  expect((await agent).value?.id).toBe(target);
});

test('a vector of another text fails the sample', async () => {
  const kbId = await linkedBase();
  const held = await holdStatements(stack.adminUrl, { table: 'knowledge_relations', event: 'insert' });
  const { runId, target } = await startedReembed(world, kbId, 'hash-v1');
  await held.reached();
  await world.sql(
    'update knowledge_vectors v set embedding = (select w.embedding from knowledge_vectors w where w.kb_id = v.kb_id and w.chunk_id <> v.chunk_id limit 1) where kb_id = ?',
    [target],
  );
  await held.letGo();

  expect(await world.ended(runId)).toMatchObject({ status: 'failed', errors: [{ code: 'sample_mismatch' }] });
});

test('a budget without room refuses the estimate; one that is spent meanwhile pauses the run until there is more', async () => {
  const { kbId } = await filledBase();
  await budgets.day('0.000000001');
  const refused = await world.reembed(kbId, paid.id);
  expect([refused.status, refused.body.context?.['reason']]).toEqual([402, 'day']);
  await budgets.day('10');
  let spends = true;
  server.reply = async () => {
    if (spends)
      await world.sql(`update budget_windows set spent = 10 where workspace_id = ? and closed_at is null`, [stack.tenant.workspaceId]);
    spends = false;
    return false;
  };
  await world.sql(`delete from knowledge_embedding_cache`);
  await world.addItems(
    kbId,
    Array.from({ length: 10 }, (_, at) => ({ content: `Ten more, number ${at}.` })),
  );

  const { runId } = await startedReembed(world, kbId, paid.id);
  await until(async () => (await world.run(runId)).status === 'paused');
  expect(await world.run(runId)).toMatchObject({ paused_reason: 'budget' });
  const put = { period: 'day', limit_amount: '100', currency: 'USD', is_enforced: true };
  await world.asked('PUT', `/budgets/${stack.tenant.workspaceId}`, put);

  expect((await world.ended(runId)).status).toBe('succeeded');
});

test('a re-embed whose workflow is gone is taken back by the upkeep, and one at work is left', async () => {
  const { kbId } = await filledBase();
  const before = await pictureOf(world, kbId);
  server.reply = () => true;
  const lost = await startedReembed(world, kbId, paid.id);
  const other = await startedReembed(world, (await filledBase()).kbId, paid.id);
  await until(async () => (await world.run(other.runId)).status === 'running');
  await world.sql(`update knowledge_bases set created_at = created_at - interval '1 hour' where activated_at is null`);
  await stack.temporal.client.workflow.getHandle(`reembed:${lost.target}`).terminate();

  await stack.temporal.client.workflow.start('tendReembeds', { workflowId: `test:${newId()}`, taskQueue: 'bulk' });

  expect(await world.ended(lost.runId)).toMatchObject({ status: 'failed', errors: [{ code: 'interrupted' }] });
  await expectAsBefore(kbId, lost.target, before);
  expect((await world.run(other.runId)).status).toBe('running');
  await world.asked('POST', `/knowledge-maintenance-runs/${other.runId}/cancel`);
});

test('the index of a base is built by the owner of the tables, once by two builders, and over one that is not valid', async () => {
  const kbId = (await world.reembed((await filledBase()).kbId, 'hash-v1')).body.id;
  const ownerUrl = stack.ownerUrl;
  const signal = new AbortController().signal;
  const client = new pg.Client({ connectionString: stack.adminUrl });
  await client.connect();

  // As in a deployment, where the owner of the tables owns the database.
  await client.query(`alter database ${new URL(stack.adminUrl).pathname.slice(1)} owner to longhaul_owner`);
  const build = () => buildVectorIndex({ ownerUrl, kbId, dim: 1_024, signal });
  const both = await Promise.all([build(), build()]);
  expect(both.toSorted()).toEqual(['built', 'there']);
  await client.query('update pg_index set indisvalid = false where indexrelid = $1::regclass', [vectorIndexName(kbId)]);
  expect(await build()).toBe('built');
  expect(
    (await client.query('select from pg_index where indexrelid = $1::regclass and indisvalid', [vectorIndexName(kbId)])).rowCount,
  ).toBe(1);
  expect(await dropVectorIndex({ ownerUrl, kbId, signal })).toBe(true);
  expect(await dropVectorIndex({ ownerUrl, kbId, signal })).toBe(false);
  await client.end();
});
