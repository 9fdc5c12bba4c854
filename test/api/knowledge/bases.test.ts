import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { freeSlug, listed, makeBase } from './base-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const rowsOf = <T>(sql: string, params: unknown[]) => sweep(world.api.db, (em) => rows<T>(em, sql, params));
const create = (token: string, extra: Readonly<Record<string, unknown>>) =>
  world.call(token, 'POST', '/knowledge-bases', { body: { slug: freeSlug(), name: 'Handbook', embedding_model: 'none', ...extra } });

test('a new base is empty, open and active, and read as it was made', async () => {
  const { tokens } = await world.tenant();
  const made = await makeBase(world, tokens.member, { kind: 'faq' });

  const read = await world.call(tokens.viewer, 'GET', `/knowledge-bases/${made.id}`);
  const stats = await world.call(tokens.viewer, 'GET', `/knowledge-bases/${made.id}/stats`);

  expect(read.body).toEqual(made);
  expect(read.headers['etag']).toBe('"1"');
  expect(made).toMatchObject({
    scope: 'workspace',
    kind: 'faq',
    is_private: false,
    is_frozen: false,
    embedding_model: 'none',
    embedding_dim: 0,
  });
  expect(made).toMatchObject({ item_count: 0, curation_counts: { pending: 0, reviewed: 0, promoted: 0, superseded: 0, retired: 0 } });
  expect(stats.body).toMatchObject({
    state: 'active',
    chunk_count: 0,
    token_count: 0,
    vectors: [],
    vector_index: { mode: 'exact', state: 'none' },
  });
  expect(stats.body).toMatchObject({ chunking: { size_tokens: 400, overlap_tokens: 40 }, predecessor_id: null, building_run_id: null });
  expect(stats.body.retrieval).toEqual({ language: 'en', vector_weight: null, include_pending: false });
});

test('without a model named, a base has the deployment’s; its dimension comes from the registry', async () => {
  const { tokens } = await world.tenant();

  const named = await create(tokens.member, { embedding_model: 'hash-v1' });
  const left = await create(tokens.member, { embedding_model: undefined });

  expect(named.body).toMatchObject({ embedding_model: 'hash-v1', embedding_dim: 1024 });
  expect(left.body.embedding_dim).toBeGreaterThan(0);
});

test.each<[string, Record<string, unknown>, string]>([
  ['a slug with a dot', { slug: 'a.b' }, '/slug'],
  ['a slug of 121', { slug: 'a'.repeat(121) }, '/slug'],
  ['no name', { name: undefined }, '/name'],
  ['a name of 201', { name: 'a'.repeat(201) }, '/name'],
  ['U+0000 in its name', { name: 'a\u0000' }, '/name'],
  ['a kind that is none', { kind: 'wiki' }, '/kind'],
  ['an unknown field', { lex_no: 1 }, '/lex_no'],
  ['a subject without its id', { subject_kind: 'guest' }, '/subject_id'],
  ['a subject without its kind', { subject_id: 'a' }, '/subject_kind'],
  ['an open subject', { subject_kind: 'guest', subject_id: 'a', is_private: false }, '/is_private'],
  ['a user who is none', { subject_kind: 'user', subject_id: newId() }, '/subject_id'],
  ['a user’s id that is none', { subject_kind: 'user', subject_id: 'x' }, '/subject_id'],
  ['an agent that is none', { owner_agent_id: newId() }, '/owner_agent_id'],
  ['a persona that is none', { owner_persona_id: newId() }, '/owner_persona_id'],
  ['chunks of 63', { chunking: { size_tokens: 63 } }, '/chunking/size_tokens'],
  ['an overlap as long as a chunk', { chunking: { size_tokens: 64, overlap_tokens: 64 } }, '/chunking/overlap_tokens'],
  ['a language that is none', { retrieval: { language: 'xx' } }, '/retrieval/language'],
  ['a weight of 2.5', { retrieval: { vector_weight: 2.5 } }, '/retrieval/vector_weight'],
])('a base with %s is 422', async (_name, extra, pointer) => {
  const { tokens } = await world.tenant();

  const answer = await create(tokens.member, extra);

  expect(answer.status).toBe(422);
  expect(answer.body.errors[0].pointer).toBe(pointer);
});

test('a model that the deployment does not have is 422 unknown_embedding_model, and one in a change always 422 use_reembed', async () => {
  const { tokens } = await world.tenant();
  const base = await makeBase(world, tokens.member);

  const unknown = await create(tokens.member, { embedding_model: 'nobody/none' });
  const changed = await world.call(tokens.member, 'PATCH', `/knowledge-bases/${base.id}`, { body: { embedding_model: 'none' } });

  expect([unknown.status, unknown.body.context.reason]).toEqual([422, 'unknown_embedding_model']);
  expect([changed.status, changed.body.context.reason]).toEqual([422, 'use_reembed']);
});

test('a slug is taken once a place, also by two requests at once, and free again after a deletion', async () => {
  const { tokens } = await world.tenant();
  const slug = freeSlug();

  const both = await Promise.all([create(tokens.member, { slug }), create(tokens.member, { slug })]);
  const made = both.find(({ status }) => status === 201);
  const gone = await world.call(tokens.admin, 'DELETE', `/knowledge-bases/${made?.body.id}`);
  const again = await create(tokens.member, { slug });

  expect(both.map(({ status }) => status).toSorted()).toEqual([201, 409]);
  expect([gone.status, again.status]).toEqual([204, 201]);
  expect((await world.call(tokens.admin, 'GET', `/knowledge-bases/${made?.body.id}`)).status).toBe(404);
});

test('a memory base searches what nobody has reviewed, unless it is told otherwise', async () => {
  const { tokens } = await world.tenant();
  const memory = await makeBase(world, tokens.member, { kind: 'memory' });
  const told = await makeBase(world, tokens.member, { kind: 'memory', retrieval: { include_pending: false } });

  const ofStats = async (id: string) =>
    (await world.call(tokens.viewer, 'GET', `/knowledge-bases/${id}/stats`)).body.retrieval.include_pending;

  expect([await ofStats(memory.id), await ofStats(told.id)]).toEqual([true, false]);
});

test('a change keeps what it does not name, counts the version and stands in the log; a stale If-Match is 412', async () => {
  const { tokens, organizationId } = await world.tenant();
  const base = await makeBase(world, tokens.member, { chunking: { size_tokens: 200 } });
  const path = `/knowledge-bases/${base.id}`;

  const changed = await world.call(tokens.member, 'PATCH', path, { body: { name: 'Rules', retrieval: { vector_weight: 0.5 } } });
  const stale = await world.call(tokens.member, 'PATCH', path, { body: { name: 'Other' }, headers: { 'if-match': '"1"' } });
  const stats = await world.call(tokens.viewer, 'GET', `${path}/stats`);

  expect([changed.status, changed.body.name, changed.headers['etag']]).toEqual([200, 'Rules', '"2"']);
  expect(stale.status).toBe(412);
  expect(stats.body.chunking).toEqual({ size_tokens: 200, overlap_tokens: 40 });
  expect(stats.body.retrieval).toEqual({ language: 'en', vector_weight: 0.5, include_pending: false });
  const [entry] = await rowsOf<{ changes: Record<string, unknown> }>(
    "select changes from audit_entries where organization_id = ? and action = 'update' and resource_id = ?",
    [organizationId, base.id],
  );
  expect(entry?.changes).toMatchObject({ name: { from: 'Handbook', to: 'Rules' } });
});

test('another language has items indexed anew; not of a frozen base, and not while a run writes to it', async () => {
  const { tokens } = await world.tenant();
  const base = await makeBase(world, tokens.admin);
  const change = (body: unknown) => world.call(tokens.admin, 'PATCH', `/knowledge-bases/${base.id}`, { body });
  const degraded = async () => {
    const found = await world.call(tokens.admin, 'POST', `/knowledge-bases/${base.id}/search`, {
      body: { query: 'Haus', mode: 'lexical' },
    });
    return found.body.degraded.map(({ reason }: { reason: string }) => reason);
  };
  const starts = () => rowsOf("select 1 from outbox where payload ->> 'workflowId' = ?", [`index:${base.id}`]);

  const empty = await change({ retrieval: { language: 'de' } });
  const before = [await degraded(), (await starts()).length];
  await world.call(tokens.admin, 'POST', `/knowledge-bases/${base.id}/items`, { body: { content: 'Häuser' } });
  const full = await change({ retrieval: { language: 'fr' } });
  const after = [await degraded(), (await starts()).length];
  const same = await change({ retrieval: { language: 'fr' }, is_frozen: true });
  const frozen = await change({ retrieval: { language: 'es' } });
  await change({ is_frozen: false });
  await world.call(tokens.admin, 'POST', `/knowledge-bases/${base.id}/maintenance-runs`, { body: { tasks: ['repair'] } });
  const running = await change({ retrieval: { language: 'es' } });

  expect([empty.status, full.status, same.status]).toEqual([200, 200, 200]);
  expect([before, after]).toEqual([
    [[], 0],
    [['index_pending'], 1],
  ]);
  expect([frozen.status, frozen.body.context.reason]).toEqual([423, 'frozen']);
  expect([running.status, running.body.context.reason]).toEqual([409, 'run_in_progress']);
});

test('the subject of a base is a private one’s, and cannot be opened', async () => {
  const { tokens } = await world.tenant();
  const base = await makeBase(world, tokens.admin, { subject_kind: 'guest', subject_id: 'guest-1' });

  const opened = await world.call(tokens.operator, 'PATCH', `/knowledge-bases/${base.id}`, { body: { is_private: false } });

  expect(base).toMatchObject({ is_private: true, subject_kind: 'guest', subject_id: 'guest-1' });
  expect([403, 422]).toContain(opened.status);
});

test('only an admin makes a base of another user', async () => {
  const { tokens, users } = await world.tenant();
  const of = (token: string, id: string) => create(token, { subject_kind: 'user', subject_id: id });

  expect((await of(tokens.member, users.member.id)).status).toBe(201);
  expect((await of(tokens.member, users.viewer.id)).status).toBe(403);
  expect((await of(tokens.admin, users.viewer.id)).status).toBe(201);
});

test('an owner is an agent of the place, or of a wider one', async () => {
  const { tokens } = await world.tenant();
  const other = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const foreign = await makeAgent(world, other.tokens.admin);

  const own = await create(tokens.member, { owner_agent_id: agent.id });
  const theirs = await create(tokens.member, { owner_agent_id: foreign.id });

  expect([own.status, own.body.owner_agent_id]).toEqual([201, agent.id]);
  expect([theirs.status, theirs.body.errors[0].rule]).toEqual([422, 'reference']);
});

test('a list is filtered by each of its fields, and searched by slug and name', async () => {
  const { tokens } = await world.tenant();
  const open = await makeBase(world, tokens.admin, { kind: 'code', name: 'Sources' });
  const own = await makeBase(world, tokens.admin, { is_private: true });
  const guests = await makeBase(world, tokens.admin, { subject_kind: 'guest', subject_id: 'g' });
  await world.call(tokens.admin, 'PATCH', `/knowledge-bases/${open.id}`, { body: { is_frozen: true } });
  const list = (filter: string) => listed(world, tokens.admin, filter);

  expect(await list('')).toEqual([guests.id, own.id, open.id]);
  expect(await list('&kind=code')).toEqual([open.id]);
  expect(await list('&is_private=true')).toEqual([guests.id, own.id]);
  expect(await list('&is_private=false')).toEqual([open.id]);
  expect(await list('&is_frozen=true')).toEqual([open.id]);
  expect(await list('&is_frozen=false')).toEqual([guests.id, own.id]);
  expect(await list('&subject_kind=guest&subject_id=g')).toEqual([guests.id]);
  expect(await list('&q=SOURCES')).toEqual([open.id]);
  expect(await list(`&q=${own.slug}`)).toEqual([own.id]);
  expect(await list('&scope=organization')).toEqual([]);
  expect(await list(`&owner_agent_id=${newId()}`)).toEqual([]);
});

test('a base is not deleted while a run works on it', async () => {
  const { tokens, organizationId, workspaceId } = await world.tenant();
  const base = await makeBase(world, tokens.admin);
  const runId = newId();
  await rowsOf(
    `insert into knowledge_runs (id, kb_id, organization_id, workspace_id, kind, currency, requested_by) values (?, ?, ?, ?, 'export', 'USD', '{}')`,
    [runId, base.id, organizationId, workspaceId],
  );

  const busy = await world.call(tokens.admin, 'DELETE', `/knowledge-bases/${base.id}`);
  await rowsOf("update knowledge_runs set status = 'failed' where id = ?", [runId]);
  const idle = await world.call(tokens.admin, 'DELETE', `/knowledge-bases/${base.id}`);

  expect([busy.status, busy.body.context]).toEqual([409, { reason: 'run_in_progress', run_id: runId }]);
  expect(idle.status).toBe(204);
});

test('statistics count live items, what was deleted, sources, vectors and the index of a base', async () => {
  const { tokens, organizationId, workspaceId } = await world.tenant();
  const base = await makeBase(world, tokens.admin, { embedding_model: 'hash-v1' });
  const place = [base.id, organizationId, workspaceId];
  const item = async (kind: string, deleted: boolean, staged: boolean) => {
    const id = newId();
    await rowsOf(
      `insert into knowledge_items (id, kb_id, organization_id, workspace_id, kind, content, content_hash, origin, trust, curation_state, index_state, created_by, deleted_at, staged_run_id)
       values (?, ?, ?, ?, ?, 'x', 'h', 'human', 'reviewed', 'reviewed', 'ready', '{}', ${deleted ? 'now()' : 'null'}, ${staged ? 'gen_random_uuid()' : 'null'})`,
      [id, ...place, kind],
    );
    return id;
  };
  const itemId = await item('fact', false, false);
  await item('document', true, false);
  await item('document', false, true);
  const chunkId = newId();
  await rowsOf(
    `insert into knowledge_chunks (id, kb_id, organization_id, workspace_id, item_id, ord, text, char_start, char_end, token_count, content_hash, lexemes, lex_len)
     values (?, ?, ?, ?, ?, 0, 'x', 0, 1, 1, 'h', '', 0)`,
    [chunkId, ...place, itemId],
  );
  await rowsOf(
    `insert into knowledge_vectors (chunk_id, kb_id, organization_id, workspace_id, embedding_model, embedding_dim, embedding)
     values (?, ?, ?, ?, 'hash-v1', 1024, array_fill(0.5, array[1024])::halfvec)`,
    [chunkId, ...place],
  );

  const { body } = await world.call(tokens.viewer, 'GET', `/knowledge-bases/${base.id}/stats`);

  expect(body.items.by_kind).toMatchObject({ fact: 1, document: 0 });
  expect(body.items).toMatchObject({ by_origin: { human: 1, agent: 0 }, by_index_state: { ready: 1, pending: 0, failed: 0 }, deleted: 1 });
  expect(body.vectors).toEqual([{ embedding_model: 'hash-v1', embedding_dim: 1024, count: 1 }]);
});
