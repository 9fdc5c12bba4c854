import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { curate, freeSlug, makeSkill, promote, skillBody } from './skill-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const rowsOf = <T>(sql: string, params: unknown[]) => sweep(world.api.db, (em) => rows<T>(em, sql, params));
const docs = [{ name: 'docs/limits.md', content: 'Up to 50 EUR.' }];

test('a new skill is pending, of version 1, with its documents; lists leave their content out', async () => {
  const { tokens, workspaceId } = await world.tenant();
  const made = await makeSkill(world, tokens.member, { reference_docs: docs });

  const read = await world.call(tokens.viewer, 'GET', `/skills/${made.id}`);
  const listed = await world.call(tokens.viewer, 'GET', `/skills?q=${made.slug.toUpperCase()}`);
  const versions = await world.call(tokens.viewer, 'GET', `/skills/${made.id}/versions`);

  expect(read.body).toEqual(made);
  expect(read.headers['etag']).toBe('"1"');
  expect(made).toMatchObject({
    ...skillBody,
    scope: 'workspace',
    workspace_id: workspaceId,
    version: 1,
    curation_state: 'pending',
    origin: 'human',
    use_count: 0,
    last_used_at: null,
    owner_agent_id: null,
    owner_user_id: null,
    is_active: true,
    reference_docs: [{ name: 'docs/limits.md', media_type: 'text/markdown', size_chars: 13, content: 'Up to 50 EUR.' }],
  });
  expect(listed.body.items.map((item: { id: string }) => item.id)).toEqual([made.id]);
  expect(listed.body.items[0].reference_docs[0]).not.toHaveProperty('content');
  expect(versions.body.items).toMatchObject([{ skill_id: made.id, version: 1, origin: 'human', front_matter: null }]);
  expect(versions.body.items[0].reference_docs[0]).not.toHaveProperty('content');
});

test.each<[string, Record<string, unknown>, string]>([
  ['no description', { description: undefined }, '/description'],
  ['an empty text', { instructions: '' }, '/instructions'],
  ['a slug with capitals', { slug: 'Refunds' }, '/slug'],
  ['a slug of 65', { slug: 'a'.repeat(65) }, '/slug'],
  ['a text over its bound', { instructions: 'a'.repeat(65_537) }, '/instructions'],
  ['a document outside', { reference_docs: [{ name: '../x', content: '' }] }, '/reference_docs/0/name'],
  ['an absolute document', { reference_docs: [{ name: '/etc/x', content: '' }] }, '/reference_docs/0/name'],
  ['two documents of one name', { reference_docs: [docs[0], docs[0]] }, '/reference_docs/1/name'],
  ['501 documents', { reference_docs: Array.from({ length: 501 }, (_, at) => ({ name: `${at}`, content: '' })) }, '/reference_docs'],
  [
    'over 2 MiB of documents',
    { reference_docs: Array.from({ length: 9 }, (_, at) => ({ name: `${at}`, content: 'a'.repeat(250_000) })) },
    '/reference_docs',
  ],
  ['an unknown field', { version: 3 }, '/version'],
  ['U+0000', { instructions: 'a\u0000' }, '/instructions'],
  ['an agent that is none', { owner_agent_id: crypto.randomUUID() }, '/owner_agent_id'],
  ['a user who is none', { owner_user_id: crypto.randomUUID() }, '/owner_user_id'],
])('a skill with %s is 422', async (_name, extra, pointer) => {
  const { tokens } = await world.tenant();

  const answer = await world.call(tokens.member, 'POST', '/skills', { body: { slug: freeSlug(), ...skillBody, ...extra } });

  expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
});

test('a slug is taken once in a place, and free again after a delete; of two at once one is made', async () => {
  const { tokens } = await world.tenant();
  const body = { slug: freeSlug(), ...skillBody };
  const create = () => world.call(tokens.member, 'POST', '/skills', { body });

  const atOnce = await Promise.all([create(), create(), create()]);
  const made = atOnce.find(({ status }) => status === 201);
  const removed = await world.call(tokens.admin, 'DELETE', `/skills/${made?.body.id}`);

  expect(atOnce.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
  expect(atOnce.find(({ status }) => status === 409)?.body.code).toBe('already_exists');
  expect((await world.call(tokens.member, 'DELETE', `/skills/${made?.body.id}`)).status).toBe(403);
  expect(removed.status).toBe(204);
  expect((await world.call(tokens.viewer, 'GET', `/skills/${made?.body.id}`)).status).toBe(404);
  expect((await world.call(tokens.viewer, 'GET', `/skills/${made?.body.id}/versions`)).status).toBe(404);
  expect((await create()).status).toBe(201);
});

test('a private skill is seen by its user and admins only, whatever is done to it', async () => {
  const { tokens, users } = await world.tenant();
  const mine = await makeSkill(world, tokens.member, { owner_user_id: users.member.id });
  const other = await makeSkill(world, tokens.admin, { owner_user_id: users.viewer.id });
  const refused = { status: 404, body: { code: 'not_found' } };
  const seenBy = async (token: string) =>
    (await world.call(token, 'GET', '/skills')).body.items.map(({ id }: { id: string }) => id).toSorted();

  expect(await seenBy(tokens.member)).toEqual([mine.id]);
  expect(await seenBy(tokens.viewer)).toEqual([other.id]);
  expect(await seenBy(tokens.admin)).toEqual([mine.id, other.id].toSorted());
  expect(await world.call(tokens.viewer, 'GET', `/skills/${mine.id}`)).toMatchObject(refused);
  expect(await world.call(tokens.viewer, 'GET', `/skills/${mine.id}/versions`)).toMatchObject(refused);
  expect(await world.call(tokens.member, 'PATCH', `/skills/${other.id}`, { body: { is_active: false } })).toMatchObject(refused);
  const giving = { slug: freeSlug(), ...skillBody, owner_user_id: users.viewer.id };
  expect(await world.call(tokens.member, 'POST', '/skills', { body: giving })).toMatchObject({
    status: 403,
    body: { code: 'role_insufficient' },
  });
  const taken = await world.call(tokens.member, 'POST', '/skills/import', {
    body: { slug: other.slug, markdown: '---\ndescription: d\n---\nx', on_conflict: 'new_version' },
  });
  expect(taken).toMatchObject({ status: 409, body: { code: 'already_exists' } });
});

test('another text is a new pending version; the same text and is_active are none; stale ETags are 412', async () => {
  const { tokens } = await world.tenant();
  const made = await makeSkill(world, tokens.member, { reference_docs: docs });
  const change = (body: object, etag?: string) =>
    world.call(tokens.member, 'PATCH', `/skills/${made.id}`, { body, ...(etag ? { headers: { 'if-match': etag } } : {}) });

  const same = await change({ instructions: skillBody.instructions, reference_docs: docs });
  const off = await change({ is_active: false });
  const changed = await change({ instructions: 'Other.' }, off.headers['etag']);
  const stale = await change({ instructions: 'Lost.' }, off.headers['etag']);
  const documents = await change({ reference_docs: [] });
  const versions = await world.call(tokens.viewer, 'GET', `/skills/${made.id}/versions?limit=2`);

  expect([same.body.version, off.body.version, changed.body.version, documents.body.version]).toEqual([1, 1, 2, 3]);
  expect(off.body.is_active).toBe(false);
  expect(stale.status).toBe(412);
  expect(versions.body.items.map(({ version }: { version: number }) => version)).toEqual([3, 2]);
  const next = await world.call(tokens.viewer, 'GET', `/skills/${made.id}/versions?limit=2&cursor=${versions.body.next_cursor}`);
  expect(next.body.items).toMatchObject([{ version: 1, instructions: skillBody.instructions }]);
  const audited = await rowsOf<{ changes: Record<string, unknown> }>(
    "select changes from audit_entries where resource_id = ? and operation_id = 'updateSkill' order by id",
    [made.id],
  );
  expect(audited[2]?.changes).toEqual({ version: { from: 1, to: 2 }, instructions: { changed: true } });
});

test('changes at once make one version each, without a gap', async () => {
  const { tokens } = await world.tenant();
  const made = await makeSkill(world, tokens.member);

  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, at) =>
      world.call(tokens.member, 'PATCH', `/skills/${made.id}`, { body: { instructions: `Text ${at}` } }),
    ),
  );

  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const versions = await rowsOf<{ version: number }>('select version from skill_versions where skill_id = ? order by version', [made.id]);
  expect(versions.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test('filters narrow the list, and an unknown one is 422', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const owned = await makeSkill(world, tokens.member, { owner_agent_id: agent.id });
  const promoted = await makeSkill(world, tokens.member);
  await promote(world, tokens.admin, promoted);
  const found = async (query: string) =>
    (await world.call(tokens.viewer, 'GET', `/skills?${query}`)).body.items.map(({ id }: { id: string }) => id);

  expect(await found(`owner_agent_id=${agent.id}`)).toEqual([owned.id]);
  expect(await found('curation_state=promoted')).toEqual([promoted.id]);
  expect(await found('origin=agent')).toEqual([]);
  expect(await found('q=refund')).toEqual([promoted.id, owned.id]);
  expect((await world.call(tokens.viewer, 'GET', '/skills?state=pending')).status).toBe(422);
});

test('a page ends before 4 MiB of text, and the next one goes on without a gap', async () => {
  const { tokens } = await world.tenant();
  const made: string[] = [];
  for (let at = 0; at < 70; at++) made.push((await makeSkill(world, tokens.member, { instructions: 'a'.repeat(65_536) })).id);

  const first = await world.call(tokens.viewer, 'GET', '/skills?limit=200');
  const second = await world.call(tokens.viewer, 'GET', `/skills?limit=200&cursor=${first.body.next_cursor}`);

  expect(first.body.items.length).toBeLessThan(64);
  expect(JSON.stringify(first.body).length).toBeLessThan(4 * 1_024 * 1_024 + 1_000);
  expect([...first.body.items, ...second.body.items].map(({ id }: { id: string }) => id)).toEqual(made.toReversed());
  expect(second.body.next_cursor).toBeNull();
});

test('a platform skill is seen by all, changed by no tenant, and its uses are counted where one sees them', async () => {
  const { tokens } = await world.tenant();
  const other = await world.tenant();
  const shared = await makeSkill(world, tokens.operator, { scope: 'platform' });

  expect((await world.call(tokens.viewer, 'GET', `/skills/${shared.id}`)).body).toMatchObject({ scope: 'platform', use_count: 0 });
  expect((await world.call(other.tokens.admin, 'PATCH', `/skills/${shared.id}`, { body: { is_active: false } })).status).toBe(403);
  expect((await curate(world, other.tokens.admin, shared.id, { to: 'reviewed', version: 1 })).status).toBe(403);
});

test('reads cost three statements at most, writes a bounded number', async () => {
  const { tokens } = await world.tenant();
  const made = await makeSkill(world, tokens.member, { reference_docs: docs });
  const statements = async (work: () => Promise<unknown>) => {
    const seen: string[] = [];
    const { config } = world.api.db.app;
    const before = config.get('onQuery');
    config.set('onQuery', (sql, params) => {
      seen.push(sql);
      return before(sql, params);
    });
    await work();
    config.set('onQuery', before);
    return seen.filter((sql) => !/^\s*(begin|commit|select set_config)/i.test(sql)).length;
  };

  for (const path of ['/skills', `/skills/${made.id}`, `/skills/${made.id}/versions`])
    expect(await statements(() => world.call(tokens.viewer, 'GET', path))).toBeLessThanOrEqual(3);
  expect(
    await statements(() => world.call(tokens.admin, 'POST', `/skills/${made.id}/curate`, { body: { to: 'reviewed', version: 1 } })),
  ).toBeLessThanOrEqual(12);
});
