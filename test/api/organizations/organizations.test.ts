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
const entriesOf = (resourceId: string, operationId: string) =>
  sweep(world.api.db, (em) =>
    rows<Record<string, unknown>>(
      em,
      `select action, resource_type, resource_label, organization_id, changes from audit_entries
        where resource_id = ? and operation_id = ? order by id`,
      [resourceId, operationId],
    ),
  );

test('every caller of an organization reads its own row and lists no other', async () => {
  const [{ organizationId, tokens, organizationOwner, serviceKey }, other] = await Promise.all([world.tenant(), world.tenant()]);

  for (const token of [tokens.viewer, tokens.owner, organizationOwner.token, serviceKey.plaintext]) {
    const own = await world.call(token, 'GET', `/organizations/${organizationId}`);
    const list = await world.call(token, 'GET', '/organizations');
    const foreign = await world.call(token, 'GET', `/organizations/${other.organizationId}`);
    const settings = await world.call(other.tokens.admin, 'GET', `/organizations/${organizationId}/settings`);

    expect(own).toMatchObject({
      status: 200,
      body: { id: organizationId, timezone: 'UTC', status: 'active', suspended_at: null, delete_after: null },
    });
    expect(list.body.items).toEqual([own.body]);
    expect(foreign).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(settings.status).toBe(404);
  }
});

test('an operator lists every organization, and narrowed the one', async () => {
  const [mine, other] = await Promise.all([world.tenant(), world.tenant()]);
  const ids = async (headers: Record<string, string>) =>
    (await world.call(mine.tokens.operator, 'GET', '/organizations?limit=200', { headers })).body.items.map(({ id }: { id: string }) => id);

  expect(await ids({})).toEqual(expect.arrayContaining([mine.organizationId, other.organizationId]));
  expect(await ids({ 'x-view-organization': other.organizationId })).toEqual([other.organizationId]);
  expect(await ids({ 'x-view-workspace': other.workspaceId })).toEqual([other.organizationId]);
  const hidden = await world.call(mine.tokens.operator, 'GET', `/organizations/${mine.organizationId}`, {
    headers: { 'x-view-organization': other.organizationId },
  });
  expect(hidden.status).toBe(404);
});

test('an owner of the whole organization changes name, slug and time zone, and the log says what', async () => {
  const { organizationId, organizationOwner } = await world.tenant();
  const slug = `new-${organizationId.slice(-8)}`;
  const before = await world.call(organizationOwner.token, 'GET', `/organizations/${organizationId}`);

  const changed = await world.call(organizationOwner.token, 'PATCH', `/organizations/${organizationId}`, {
    body: { name: 'New', slug, timezone: 'Europe/Kyiv' },
    headers: { 'if-match': before.headers['etag'] ?? '' },
  });
  const empty = await world.call(organizationOwner.token, 'PATCH', `/organizations/${organizationId}`, { body: {} });
  const read = await world.call(organizationOwner.token, 'GET', `/organizations/${organizationId}`);

  expect(changed).toMatchObject({ status: 200, body: { name: 'New', slug, timezone: 'Europe/Kyiv' } });
  expect(changed.headers['etag']).not.toBe(before.headers['etag']);
  expect(empty).toMatchObject({ status: 200, body: changed.body });
  expect(read.body).toEqual(changed.body);
  expect(read.headers['etag']).toBe(changed.headers['etag']);
  const common = { action: 'update', resource_type: 'organization', resource_label: slug, organization_id: organizationId };
  expect(await entriesOf(organizationId, 'updateOrganization')).toEqual([
    {
      ...common,
      changes: {
        name: { from: before.body.name, to: 'New' },
        slug: { from: before.body.slug, to: slug },
        timezone: { from: 'UTC', to: 'Europe/Kyiv' },
      },
    },
    { ...common, changes: {} },
  ]);
});

test('a role in a workspace changes nothing of the organization', async () => {
  const { organizationId, tokens, organizationAdmin } = await world.tenant();
  const patch = (token: string, headers = {}) =>
    world.call(token, 'PATCH', `/organizations/${organizationId}`, { body: { name: 'x' }, headers });

  const byOwnerOfWorkspace = await patch(tokens.owner, { 'if-match': '"999"' });
  const byAdmin = await patch(organizationAdmin.token);
  const foreign = await world.call(tokens.owner, 'PATCH', `/organizations/${(await world.tenant()).organizationId}`, {
    body: { name: 'x' },
  });

  expect(byOwnerOfWorkspace).toMatchObject({ status: 403, body: { code: 'resource_forbidden' } });
  expect(byAdmin).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(foreign.status).toBe(404);
});

test.each([
  ['Mars/Olympus', false],
  ['europe/berlin', false],
  ['+02:00', false],
  ['PST', false],
  ['Europe/Berlin', true],
  ['Asia/Kolkata', true],
  ['America/Argentina/Buenos_Aires', true],
  ['Etc/GMT+5', true],
  ['UTC', true],
])('the time zone %s is of the IANA database: %s', async (timezone, isKnown) => {
  const { organizationId, organizationOwner } = await world.tenant();

  const { status, body } = await world.call(organizationOwner.token, 'PATCH', `/organizations/${organizationId}`, { body: { timezone } });

  expect(status).toBe(isKnown ? 200 : 422);
  if (!isKnown) expect(body.errors).toMatchObject([{ in: 'body', pointer: '/timezone' }]);
});

test('a slug in use anywhere is 409, what the server sets is 422, null is 422', async () => {
  const [{ organizationId, organizationOwner }, other] = await Promise.all([world.tenant(), world.tenant()]);
  const patch = (body: object) => world.call(organizationOwner.token, 'PATCH', `/organizations/${organizationId}`, { body });
  const taken = (await world.call(other.tokens.viewer, 'GET', `/organizations/${other.organizationId}`)).body.slug;

  expect(await patch({ slug: taken })).toMatchObject({ status: 409, body: { code: 'already_exists', context: { field: 'slug' } } });
  for (const body of [{ status: 'suspended' }, { id: organizationId }, { name: null }, { slug: 'Upper' }, { name: '' }])
    expect((await patch(body)).status).toBe(422);
});

test('of 20 parallel changes under one If-Match one is made', async () => {
  const { organizationId, organizationOwner } = await world.tenant();
  const before = await world.call(organizationOwner.token, 'GET', `/organizations/${organizationId}`);

  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      world.call(organizationOwner.token, 'PATCH', `/organizations/${organizationId}`, {
        body: { name: `Name ${n}` },
        headers: { 'if-match': before.headers['etag'] ?? '' },
      }),
    ),
  );

  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 412)).toHaveLength(19);
  expect(answers.find(({ status }) => status === 412)?.body.context.etag).toBeDefined();
});

test('a suspended or deleting organization is read and not changed; a purged one is nowhere', async () => {
  const { organizationId, organizationOwner, tokens } = await world.tenant();
  const write = () => world.call(organizationOwner.token, 'PATCH', `/organizations/${organizationId}`, { body: {} });

  await set("update organizations set status = 'suspended', suspended_at = now() where id = ?", [organizationId]);
  const suspended = await write();
  const read = await world.call(tokens.viewer, 'GET', `/organizations/${organizationId}`);
  await set("update organizations set status = 'deleting', delete_after = now() where id = ?", [organizationId]);
  const deleting = await write();
  await set('update organizations set purged_at = now() where id = ?', [organizationId]);
  const purged = await world.call(tokens.operator, 'GET', `/organizations/${organizationId}`);
  const list = await world.call(tokens.operator, 'GET', `/organizations?q=${organizationId.slice(-12)}`);

  expect(suspended).toMatchObject({ status: 423, body: { code: 'resource_frozen', context: { reason: 'organization_suspended' } } });
  expect(read).toMatchObject({ status: 200, body: { status: 'suspended' } });
  expect(deleting).toMatchObject({ status: 423, body: { context: { reason: 'organization_deleting' } } });
  expect(purged.status).toBe(404);
  expect(list.body.items).toEqual([]);
});

test('q is a substring of name or slug without regard to case, in which % and _ are letters', async () => {
  const { organizationId, organizationOwner, tokens } = await world.tenant();
  await world.call(organizationOwner.token, 'PATCH', `/organizations/${organizationId}`, { body: { name: '100% Snake_Case' } });
  const finds = async (q: string) =>
    (await world.call(tokens.viewer, 'GET', `/organizations?q=${encodeURIComponent(q)}`)).body.items.length === 1;

  expect(await finds('100% snake_c')).toBe(true);
  expect(await finds(organizationId.slice(-12).toUpperCase())).toBe(true);
  expect(await finds('1%e')).toBe(false);
  expect(await finds('100__')).toBe(false);
});
