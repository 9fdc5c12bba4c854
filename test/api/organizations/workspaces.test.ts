import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { change, rows } from '../../../db/sql.ts';
import { openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const set = (sql: string, params: readonly unknown[]) => sweep(world.api.db, (em) => change(em, sql, params));
const create = (token: string, organizationId: string, body: object, headers: Record<string, string> = {}) =>
  world.call(token, 'POST', `/organizations/${organizationId}/workspaces`, { body, headers });
const ids = (items: readonly { id: string }[]) => items.map(({ id }) => id);

test('createWorkspace, getWorkspace and updateWorkspace give one workspace, with an ETag', async () => {
  const { organizationId, organizationAdmin, organizationOwner } = await world.tenant();
  await world.call(organizationOwner.token, 'PATCH', `/organizations/${organizationId}`, { body: { timezone: 'Europe/Berlin' } });

  const made = await create(organizationAdmin.token, organizationId, { name: 'Support' });
  const read = await world.call(organizationAdmin.token, 'GET', `/workspaces/${made.body.id}`);
  const changed = await world.call(organizationAdmin.token, 'PATCH', `/workspaces/${made.body.id}`, {
    body: { description: 'x', currency: 'EUR', timezone: 'UTC', slug: 'help', name: 'Help' },
    headers: { 'if-match': read.headers['etag'] ?? '' },
  });
  const empty = await world.call(organizationAdmin.token, 'PATCH', `/workspaces/${made.body.id}`, { body: {} });
  const cleared = await world.call(organizationAdmin.token, 'PATCH', `/workspaces/${made.body.id}`, { body: { description: null } });

  expect(made).toMatchObject({
    status: 201,
    headers: { location: `/workspaces/${made.body.id}` },
    body: {
      organization_id: organizationId,
      slug: 'support',
      name: 'Support',
      description: null,
      timezone: 'Europe/Berlin',
      currency: 'USD',
      is_active: true,
      archived_at: null,
    },
  });
  expect(read.body).toEqual(made.body);
  expect(changed.body).toMatchObject({ slug: 'help', name: 'Help', description: 'x', currency: 'EUR', timezone: 'UTC' });
  expect(changed.headers['etag']).not.toBe(read.headers['etag']);
  expect(empty.body).toEqual(changed.body);
  expect(empty.headers['etag']).toBe(changed.headers['etag']);
  expect(cleared.body.description).toBeNull();
});

test.each([
  ['Café au lait', 'cafe-au-lait'],
  ['  --  A/B  ', 'a-b'],
  ['日本', 'workspace'],
  ['../etc/passwd', 'etc-passwd'],
  ['x'.repeat(200), 'x'.repeat(110)],
])('of the name %s the slug %s is made, and of the next a number more', async (name, slug) => {
  const { organizationId, organizationAdmin } = await world.tenant();
  const slugs = [];

  for (let n = 0; n < 3; n += 1) slugs.push((await create(organizationAdmin.token, organizationId, { name })).body.slug);

  expect(slugs).toEqual([slug, `${slug}-2`, `${slug}-3`]);
});

test('a slug asked for and taken is 409, of archived ones too; what is no zone or currency is 422', async () => {
  const { organizationId, organizationAdmin, organizationOwner } = await world.tenant();
  const made = await create(organizationAdmin.token, organizationId, { name: 'A', slug: 'a' });
  await world.call(organizationOwner.token, 'DELETE', `/workspaces/${made.body.id}`);
  const other = await world.tenant();

  expect(await create(organizationAdmin.token, organizationId, { name: 'B', slug: 'a' })).toMatchObject({
    status: 409,
    body: { code: 'already_exists', context: { field: 'slug' } },
  });
  expect((await create(other.organizationAdmin.token, other.organizationId, { name: 'B', slug: 'a' })).status).toBe(201);
  for (const [field, value] of Object.entries({ timezone: 'Nowhere', currency: 'ZZZ', slug: 'A', organization_id: organizationId })) {
    expect(await create(organizationAdmin.token, organizationId, { name: 'C', [field]: value })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: `/${field}` }] },
    });
  }
  expect((await create(organizationAdmin.token, organizationId, { name: 'C', currency: 'eur' })).status).toBe(422);
});

test('of two creates of one slug at once one wins; without a slug both do', async () => {
  const { organizationId, organizationAdmin } = await world.tenant();
  const twice = (body: object) =>
    Promise.all([create(organizationAdmin.token, organizationId, body), create(organizationAdmin.token, organizationId, body)]);

  const named = await twice({ name: 'A', slug: 'same' });
  const unnamed = await twice({ name: 'Unnamed' });

  expect(named.map(({ status }) => status).toSorted()).toEqual([201, 409]);
  expect(unnamed.map(({ body }) => body.slug).toSorted()).toEqual(['unnamed', 'unnamed-2']);
});

test('an organization has at most 1,000 workspaces, however they are asked for', async () => {
  const { organizationId, organizationAdmin } = await world.tenant();
  await set(
    // Old by their ids, so that they stand at the end of every list.
    `insert into workspaces (id, organization_id, slug, name)
     select overlay(gen_random_uuid()::text placing '0000' from 1)::uuid, ?::uuid, 'n' || n, 'N' from generate_series(1, 998) n`,
    [organizationId],
  );

  const answers = await Promise.all([1, 2, 3].map((n) => create(organizationAdmin.token, organizationId, { name: `Last ${n}` })));

  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
  expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({
    code: 'state_conflict',
    context: { reason: 'limit_reached' },
  });
});

test('one Idempotency-Key makes one workspace', async () => {
  const { organizationId, organizationAdmin } = await world.tenant();
  const ask = (body: object) => create(organizationAdmin.token, organizationId, body, { 'idempotency-key': 'k-1' });

  const first = await ask({ name: 'Once' });
  const replay = await ask({ name: 'Once' });
  const other = await ask({ name: 'Twice' });

  expect(replay.body).toEqual(first.body);
  expect(replay.headers['idempotency-replayed']).toBe('true');
  expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_key_mismatch' } });
  const entries = await sweep(world.api.db, (em) =>
    rows<object>(em, "select resource_id, workspace_id from audit_entries where organization_id = ? and operation_id = 'createWorkspace'", [
      organizationId,
    ]),
  );
  expect(entries).toEqual([{ resource_id: first.body.id, workspace_id: first.body.id }]);
});

test('workspaces are made by callers of the whole organization', async () => {
  const { organizationId, workspaceId, tokens, serviceKey, organizationAdmin } = await world.tenant();
  const other = await world.tenant();
  const body = { name: 'X' };

  expect(await create(tokens.owner, organizationId, body)).toMatchObject({ status: 403, body: { code: 'resource_forbidden' } });
  expect(await create(serviceKey.plaintext, organizationId, body)).toMatchObject({ status: 403, body: { code: 'resource_forbidden' } });
  expect(await create(tokens.member, organizationId, body)).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect((await create(other.organizationOwner.token, organizationId, body)).status).toBe(404);
  expect(await create(tokens.operator, organizationId, body, { 'x-view-workspace': workspaceId })).toMatchObject({ status: 403 });
  expect((await create(tokens.operator, organizationId, body, { 'x-view-organization': organizationId })).status).toBe(201);
  expect((await create(tokens.operator, organizationId, body)).status).toBe(201);
  await set("update organizations set status = 'suspended' where id = ?", [organizationId]);
  expect(await create(organizationAdmin.token, organizationId, body)).toMatchObject({ status: 423, body: { code: 'resource_frozen' } });
});

test('each caller sees home and granted workspaces, all of the organization, or everything', async () => {
  const { organizationId, workspaceIds, organizationAdmin, tokens, users, serviceKey } = await world.tenant({ workspaces: 3 });
  const other = await world.tenant();
  const [first = '', second = '', third = ''] = workspaceIds;
  await world.call(organizationAdmin.token, 'PUT', `/workspaces/${third}/members/${users.viewer.id}`, { body: { role: 'viewer' } });
  const seen = async (token: string, headers = {}) => {
    const all = await world.call(token, 'GET', '/workspaces?limit=200', { headers });
    const ofOne = await world.call(token, 'GET', `/organizations/${organizationId}/workspaces`, { headers });
    return [ids(all.body.items).toSorted(), ids(ofOne.body.items).toSorted()];
  };
  const sorted = [first, second, third].toSorted();

  expect(await seen(tokens.member)).toEqual([[first], [first]]);
  expect(await seen(serviceKey.plaintext)).toEqual([[first], [first]]);
  expect(await seen(tokens.viewer)).toEqual([[first, third].toSorted(), [first, third].toSorted()]);
  expect(await seen(organizationAdmin.token)).toEqual([sorted, sorted]);
  expect(await seen(tokens.operator, { 'x-view-workspace': second })).toEqual([[second], [second]]);
  expect(await seen(tokens.operator, { 'x-view-organization': organizationId })).toEqual([sorted, sorted]);
  const [everything, ofOne] = await seen(tokens.operator);
  expect(everything).toEqual(expect.arrayContaining([...sorted, other.workspaceId]));
  expect(ofOne).toEqual(sorted);
});

test('a workspace out of sight is 404 everywhere, its organization too', async () => {
  const { organizationId, workspaceIds, tokens } = await world.tenant({ workspaces: 2 });
  const other = await world.tenant();

  for (const id of [workspaceIds[1], other.workspaceId, '01900000-0000-7000-8000-000000000001']) {
    expect((await world.call(tokens.owner, 'GET', `/workspaces/${id}`)).status).toBe(404);
    expect((await world.call(tokens.owner, 'PATCH', `/workspaces/${id}`, { body: { name: 'x' } })).status).toBe(404);
    expect((await world.call(tokens.owner, 'DELETE', `/workspaces/${id}`)).status).toBe(404);
    expect((await world.call(tokens.owner, 'POST', `/workspaces/${id}/restore`)).status).toBe(404);
  }
  expect((await world.call(other.tokens.owner, 'GET', `/organizations/${organizationId}/workspaces`)).status).toBe(404);
  expect((await world.call(tokens.operator, 'GET', '/organizations/01900000-0000-7000-8000-000000000001/workspaces')).status).toBe(404);
  expect((await world.call(tokens.operator, 'GET', `/organizations/${organizationId}/workspaces?q=none`)).body).toMatchObject({
    items: [],
  });
});

test('q finds name and slug by literal substring, and pages follow each other', async () => {
  const { organizationId, organizationAdmin } = await world.tenant();
  for (const name of ['100% Sure', 'snake_case', 'Plain']) await create(organizationAdmin.token, organizationId, { name });
  const found = async (path: string) =>
    (await world.call(organizationAdmin.token, 'GET', path)).body.items.map(({ slug }: { slug: string }) => slug);

  for (const path of ['/workspaces', `/organizations/${organizationId}/workspaces`]) {
    expect(await found(`${path}?q=%25`)).toEqual(['100-sure']);
    expect(await found(`${path}?q=_`)).toEqual(['snake-case']);
    expect(await found(`${path}?q=PLAIN`)).toEqual(['plain']);
    expect(await found(path)).toEqual(['plain', 'snake-case', '100-sure', 'w1']);
    const first = await world.call(organizationAdmin.token, 'GET', `${path}?limit=3`);
    expect(await found(`${path}?limit=3&cursor=${first.body.next_cursor}`)).toEqual(['w1']);
    expect((await world.call(organizationAdmin.token, 'GET', `${path}?limit=1&offset=1`)).body).toMatchObject({
      total: 4,
      next_cursor: null,
    });
  }
});

test('a role in the whole organization is not the role in a granted workspace', async () => {
  const { workspaceIds, organizationOwner, users, tokens } = await world.tenant({ workspaces: 2 });
  const second = workspaceIds[1];
  await world.call(organizationOwner.token, 'PUT', `/workspaces/${second}/members/${users.owner.id}`, { body: { role: 'member' } });

  const read = await world.call(tokens.owner, 'GET', `/workspaces/${second}`);
  const written = await world.call(tokens.owner, 'PATCH', `/workspaces/${second}`, { body: { name: 'x' } });
  const own = await world.call(tokens.owner, 'PATCH', `/workspaces/${workspaceIds[0]}`, { body: { name: 'x' } });

  expect(read.status).toBe(200);
  expect(written).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(own.status).toBe(200);
});

test('a change is made on the version that was read, and its slug is free', async () => {
  const { workspaceIds, organizationAdmin, tokens } = await world.tenant({ workspaces: 2 });
  const path = `/workspaces/${workspaceIds[0]}`;
  const read = await world.call(tokens.admin, 'GET', path);
  const etag = read.headers['etag'] ?? '';

  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      world.call(tokens.admin, 'PATCH', path, { body: { name: `Name ${n}` }, headers: { 'if-match': etag } }),
    ),
  );
  const taken = await world.call(organizationAdmin.token, 'PATCH', path, { body: { slug: 'w2' } });
  const notModified = await world.call(tokens.viewer, 'GET', path, { headers: { 'if-none-match': '"2"' } });
  const listed = await world.call(tokens.admin, 'PATCH', path, { body: { name: 'Last' }, headers: { 'if-match': '"1", W/"2-gzip"' } });

  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 412)).toHaveLength(19);
  expect(taken).toMatchObject({ status: 409, body: { code: 'already_exists', context: { field: 'slug' } } });
  expect(notModified.status).toBe(304);
  expect(listed).toMatchObject({ status: 200, body: { name: 'Last' } });
  for (const body of [{ is_active: false }, { archived_at: null }, { currency: null }, { timezone: 'Nowhere' }, { currency: 'ZZZ' }])
    expect((await world.call(tokens.admin, 'PATCH', path, { body })).status).toBe(422);
});
