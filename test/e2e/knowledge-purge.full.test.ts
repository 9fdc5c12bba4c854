import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweepSubjects } from '../../activities/knowledge/sweep-subjects.ts';
import { newId } from '../../db/ids.ts';
import { tablesHolding } from '../support/canary.ts';
import { countedAndReal, killWhileItMoves, knowledgeCalls } from '../support/knowledge.ts';
import { isWholeMatrix } from '../chaos/whole.ts';
import { startOwnStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { makeUser } from '../support/tenant.ts';

let stack: Stack;
const { asked, sql, makeBase, addItems, ran, endOf, upload } = knowledgeCalls(() => stack);

beforeAll(async () => {
  stack = await startOwnStack({ processes: ['api', 'worker-bulk'] });
});
afterAll(() => stack?.stop());

const canaryOf = () => `canary${Math.random().toString(36).slice(2)}`;

/** Words in every place of a base that takes words; gives ids. */
async function fill(kbId: string, words: string) {
  const filled = {
    title: `Title ${words}`,
    content: `The ${words} stands here.`,
    tags: [words],
    metadata: { note: words },
    fact: { subject: words, relation: 'is', object: 'here' },
    external_id: `key-${words}`,
    evidence: [{ kind: 'url', ref: `https://example.com/${words}`, quote: `Quote of ${words}`, subject_kind: 'guest', subject_id: 'g-1' }],
  };
  const [itemId = ''] = await addItems(kbId, [filled]);
  await asked('PATCH', `/knowledge-items/${itemId}`, { content: `Now the ${words} stands there.`, reason: `Since ${words}` });
  const [otherId = ''] = await addItems(kbId, [
    { content: 'Another item.', evidence: [{ kind: 'item', ref: itemId, quote: `It says ${words}` }] },
  ]);
  await asked('POST', `/knowledge-items/${itemId}/relations`, { to_item_id: otherId, type: 'supports', note: `Because of ${words}` });
  await sql(
    `insert into knowledge_findings (id, kb_id, organization_id, workspace_id, kind, fingerprint, item_ids, detail)
     select gen_random_uuid(), kb_id, organization_id, workspace_id, 'duplicate', id::text, array[id], jsonb_build_object('text', ?::text) from knowledge_items where id = ?`,
    [words, itemId],
  );
  return { itemId, otherId };
}

test('a purge of all leaves the words of the base nowhere, and nothing of the base', async () => {
  const words = canaryOf();
  const keyed = async (path: string, body: object) => {
    const made = await stack.request('POST', path, { body, headers: { 'idempotency-key': crypto.randomUUID() } });
    return made.body as { id: string; slug: string; run_id: string };
  };
  const base = await keyed('/knowledge-bases', { slug: `base-${canaryOf()}`, name: words, embedding_model: 'hash-v1', scope: 'workspace' });
  const { itemId, otherId } = await fill(base.id, words);
  await keyed(`/knowledge-items/${itemId}/relations`, { to_item_id: otherId, type: 'related', note: words });
  // It makes no item.
  const failing = await keyed(`/knowledge-bases/${base.id}/sources`, { url: `http://127.0.0.1/${words}`, title: words });
  await asked('PUT', `/knowledge-bases/${base.id}/maintenance-policy`, { golden_queries: [{ query: words, relevant: [words] }] });
  const attachmentId = await upload(`# File\n\nThe file says ${words}.`, 'file.md');
  const source = await asked<{ id: string; run_id: string }>('POST', `/knowledge-bases/${base.id}/sources`, {
    attachment_id: attachmentId,
  });
  const text = await asked<{ id: string; run_id: string }>('POST', `/knowledge-bases/${base.id}/sources`, {
    text: `Text of ${words}`,
    title: words,
  });
  for (const { run_id: runId } of [source, text, failing]) await endOf(runId);
  await keyed(`/knowledge-bases/${base.id}/items`, { content: `Keyed ${words}` });
  // Words get there last, when an item is indexed.
  await until(async () => (await tablesHolding(stack.adminUrl, words)).includes('knowledge_terms'));
  const before = await tablesHolding(stack.adminUrl, words);

  const run = await ran(`/knowledge-bases/${base.id}/purge`, { confirm: base.slug, mode: 'all' });

  expect(before).toEqual(
    expect.arrayContaining([
      'knowledge_chunks',
      'knowledge_item_versions',
      'knowledge_terms',
      'knowledge_findings',
      'idempotency_keys',
      'knowledge_runs',
    ]),
  );
  expect(run).toMatchObject({ status: 'succeeded', result: { remaining_in: [] }, counts: { items: 5, sources: 3 } });
  expect(await tablesHolding(stack.adminUrl, words)).toEqual([]);
  expect((await stack.request('GET', `/knowledge-bases/${base.id}`, {})).status).toBe(404);
  const entries = await sql<{ changes: unknown }>(
    "select changes from audit_entries where resource_id = ? and action = 'purge' and actor_kind = 'system'",
    [base.id],
  );
  expect(entries).toEqual([{ changes: expect.objectContaining({ counts: { from: null, to: expect.objectContaining({ items: 5 }) } }) }]);
});

test('a purge of items leaves the others, their counters right, and takes quotes and details of findings along', async () => {
  const words = canaryOf();
  const base = await makeBase();
  const { itemId, otherId } = await fill(base.id, words);
  const [chunk] = await sql<{ text: string; context: string | null; organization_id: string }>(
    'select text, context, organization_id from knowledge_chunks where item_id = ?',
    [itemId],
  );
  const hash = createHash('sha256').update(`${chunk?.context}\n${chunk?.text}`).digest('hex');
  await sql(
    `insert into knowledge_embedding_cache (organization_id, model, revision, sha256, embedding, used_at) values (?, 'hash-v1', '1', ?, '[1]', now())`,
    [chunk?.organization_id, hash],
  );

  const run = await ran(`/knowledge-bases/${base.id}/purge`, { confirm: base.slug, mode: 'items', item_ids: [itemId] });

  expect(run).toMatchObject({ status: 'succeeded', counts: { items: 1, versions: 2, relations: 1, findings: 1, quotes: 1, cached: 1 } });
  expect(await tablesHolding(stack.adminUrl, words)).toEqual([]);
  expect(await asked('GET', `/knowledge-items/${otherId}`)).toMatchObject({
    content: 'Another item.',
    evidence: [{ kind: 'item', ref: itemId, quote: null }],
  });
  expect(await sql('select state, detail from knowledge_findings where kb_id = ?', [base.id])).toEqual([
    { state: 'dismissed', detail: {} },
  ]);
  const [counted, real] = await countedAndReal(sql, base.id);
  expect(counted).toEqual(real);
});

test('a purge of a subject takes what was derived from it; one of tombstones only what was deleted before', async () => {
  const words = canaryOf();
  const base = await makeBase();
  const { itemId, otherId } = await fill(base.id, words);
  await sql(`update knowledge_items set origin = 'derived', content = 'Derived words', title = null where id = ?`, [otherId]);
  await asked('POST', `/knowledge-items/${otherId}/relations`, { to_item_id: itemId, type: 'derived_from' });
  const [goneId = '', keptId = ''] = await addItems(base.id, [{ content: 'Deleted long ago.' }, { content: 'Deleted today.' }]);
  for (const id of [goneId, keptId]) await stack.request('DELETE', `/knowledge-items/${id}`, {});
  await sql(`update knowledge_items set deleted_at = now() - interval '3 days' where id = ?`, [goneId]);

  const tombstones = await ran(`/knowledge-bases/${base.id}/purge`, { confirm: base.slug, mode: 'tombstones', older_than_days: 2 });
  const left = await sql<{ id: string }>('select id from knowledge_items where kb_id = ? order by id', [base.id]);
  const subject = await ran(`/knowledge-bases/${base.id}/purge`, {
    confirm: base.slug,
    mode: 'subject',
    subject_kind: 'guest',
    subject_id: 'g-1',
  });

  expect(tombstones.counts['items']).toBe(1);
  expect(left.map(({ id }) => id)).toEqual([itemId, otherId, keptId]);
  expect(subject.counts['items']).toBe(2);
  expect(await sql('select id from knowledge_items where kb_id = ?', [base.id])).toEqual([{ id: keptId }]);
  const [counted, real] = await countedAndReal(sql, base.id);
  expect(counted).toEqual(real);
});

test('a source whose file held a purged item goes with its file, and its other items stay without it', async () => {
  const base = await makeBase();
  const words = canaryOf();
  const attachmentId = await upload([`{"content":"The ${words}"}`, '{"content":"The valve"}'].join('\n'), 'items.jsonl');
  const source = await asked<{ id: string; run_id: string }>('POST', `/knowledge-bases/${base.id}/sources`, {
    attachment_id: attachmentId,
  });
  await endOf(source.run_id);
  const items = await sql<{ id: string; content: string }>('select id, content from knowledge_items where kb_id = ? order by content', [
    base.id,
  ]);
  const gone = items.find(({ content }) => content.includes(words));

  await ran(`/knowledge-bases/${base.id}/purge`, { confirm: base.slug, mode: 'items', item_ids: [gone?.id] });

  expect(await sql('select content, source_id from knowledge_items where kb_id = ?', [base.id])).toEqual([
    { content: 'The valve', source_id: null },
  ]);
  expect((await stack.request('GET', `/attachments/${attachmentId}`, { headers: { accept: 'application/json' } })).status).toBe(404);
  expect(await tablesHolding(stack.adminUrl, words)).toEqual([]);
});

test('a superseded base that holds copies is named', async () => {
  const [older, newer] = [await makeBase(), await makeBase()];
  const [oldId = ''] = await addItems(older.id, [{ content: 'The pump is blue.' }]);
  const [newId = ''] = await addItems(newer.id, [{ content: 'The pump is blue.' }]);
  await sql('update knowledge_items set predecessor_item_id = ? where id = ?', [oldId, newId]);
  await sql('update knowledge_bases set successor_id = ?, is_frozen = true where id = ?', [newer.id, older.id]);

  const run = await ran(`/knowledge-bases/${newer.id}/purge`, { confirm: newer.slug, mode: 'items', item_ids: [newId] });
  const refused = await stack.request('POST', `/knowledge-bases/${older.id}/purge`, { body: { confirm: older.slug, mode: 'all' } });

  const problem: { reason?: string; context?: { reason?: string } } = refused.body;
  expect(run.result).toEqual({ remaining_in: [older.id] });
  expect([refused.status, problem.reason ?? problem.context?.reason]).toEqual([403, 'superseded']);
});

test('a worker killed again and again while it purges comes to the same end', async () => {
  const base = await makeBase();
  for (let at = 0; at < 6; at += 1)
    await addItems(
      base.id,
      Array.from({ length: 500 }, (_, n) => ({ content: `Item ${at} ${n} of the pump, of some length and words.` })),
    );
  const kept = (await addItems(base.id, [{ content: 'The item that stays.' }]))[0] ?? '';
  const itemIds = (await sql<{ id: string }>('select id from knowledge_items where kb_id = ? and id <> ? limit 1000', [base.id, kept])).map(
    ({ id }) => id,
  );
  await ran(`/knowledge-bases/${base.id}/purge`, { confirm: base.slug, mode: 'items', item_ids: itemIds });
  const started = await asked<{ id: string }>('POST', `/knowledge-bases/${base.id}/purge`, { confirm: base.slug, mode: 'all' });

  const kills = await killWhileItMoves(stack, { sql }, { runId: started.id, maxKills: isWholeMatrix ? 4 : 1 });
  const run = await endOf(started.id);

  expect(kills).toBeGreaterThan(0);
  expect(run).toMatchObject({ status: 'succeeded', counts: { items: 2_001 } });
  const [left] = await sql(
    `select (select count(*)::int from knowledge_items where kb_id = b.id) as items, (select count(*)::int from knowledge_chunks where kb_id = b.id) as chunks,
            (select count(*)::int from knowledge_terms where kb_id = b.id) as terms, (select count(*)::int from knowledge_vectors where kb_id = b.id) as vectors,
            deleted_at is not null as is_deleted from knowledge_bases b where id = ?`,
    [base.id],
  );
  expect(left).toEqual({ items: 0, chunks: 0, terms: 0, vectors: 0, is_deleted: true });
  expect(
    await sql(
      "select id from audit_entries where resource_id = ? and action = 'purge' and actor_kind = 'system' and changes ->> 'mode' like '%all%'",
      [base.id],
    ),
  ).toHaveLength(1);
});

test('with a person goes what is about them, in whatever workspace, and every grant to them', async () => {
  const words = canaryOf();
  const { organizationId, workspaceId, organizationOwner } = stack.tenant;
  const person = await makeUser(stack.db, stack.keys, { role: 'member', scope: 'workspace', organizationId, workspaceId });
  const memory = await makeBase({ name: `Memory of ${words}`, kind: 'memory', subject_kind: 'user', subject_id: person.id });
  const shared = await makeBase();
  await asked('POST', `/knowledge-bases/${memory.id}/grants`, { principal_kind: 'role', role: 'admin', access: 'manage' });
  await asked('POST', `/knowledge-bases/${shared.id}/grants`, { principal_kind: 'user', principal_id: person.id, access: 'write' });
  await fill(memory.id, words);
  const otherId = newId();
  await sql(
    `insert into knowledge_bases (id, scope, organization_id, workspace_id, slug, name, kind, is_private, subject_kind, subject_id, embedding_model, embedding_dim, activated_at)
    select ?, scope, organization_id, workspace_id, 'memory-2', ?, kind, true, 'user', ?, 'none', 0, now() from knowledge_bases where id = ?`,
    [otherId, words, person.id, memory.id],
  );

  const gone = await stack.request('DELETE', `/users/${person.id}`, { credential: organizationOwner.token });
  const seen = await stack.request('GET', `/knowledge-bases/${memory.id}`, { credential: organizationOwner.token });
  const grants = await sql("select id from knowledge_grants where principal_kind = 'user' and principal_id = ?", [person.id]);
  const log = { info: () => undefined } as never; // what it says is no matter here
  const started = await sweepSubjects({ db: stack.db, dispatch: async () => undefined, log, env: { billingCurrency: 'USD' } });
  await until(
    async () =>
      (await sql('select id from knowledge_runs where kb_id in (?, ?) and finished_at is not null', [memory.id, otherId])).length === 2,
  );

  expect([gone.status, seen.status, grants, started]).toEqual([204, 404, [], 2]);
  expect((await tablesHolding(stack.adminUrl, words)).filter((name) => name !== 'audit_entries')).toEqual([]);
  expect(await sweepSubjects({ db: stack.db, dispatch: async () => undefined, log, env: { billingCurrency: 'USD' } })).toBe(0);
});
