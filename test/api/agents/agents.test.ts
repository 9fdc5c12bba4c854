import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

test('createAgent, getAgent and updateAgent give one agent, with its revision and an ETag', async () => {
  const { tokens, workspaceId, organizationId, users } = await world.tenant();

  const made = await world.call(tokens.member, 'POST', '/agents', {
    body: {
      slug: 'helper',
      name: 'Helper',
      attributes: { team: 'a' },
      revision: { instructions: 'Hello {{ vars.who }}', variables: [{ name: 'who' }] },
    },
  });
  const read = await world.call(tokens.viewer, 'GET', `/agents/${made.body.id}`);
  const changed = await world.call(tokens.member, 'PATCH', `/agents/${made.body.id}`, {
    body: { name: 'Helper 2', description: 'x' },
    headers: { 'if-match': read.headers['etag'] ?? '' },
  });

  expect(made.status).toBe(201);
  expect(made.headers['location']).toBe(`/agents/${made.body.id}`);
  expect(read.body).toEqual(made.body);
  expect(read.body).toMatchObject({
    scope: 'workspace',
    organization_id: organizationId,
    workspace_id: workspaceId,
    slug: 'helper',
    name: 'Helper',
    description: null,
    avatar_preset: null,
    image_url: null,
    is_active: true,
    attributes: { team: 'a' },
    active_revision_id: null,
    created_by_user_id: users.member.id,
    active_revision: null,
    revision_count: 1,
  });
  expect(changed.status).toBe(200);
  expect(changed.body).toMatchObject({ name: 'Helper 2', description: 'x', slug: 'helper' });
  expect(changed.headers['etag']).not.toBe(read.headers['etag']);
});

test('an empty PATCH changes nothing and a stale If-Match is 412', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const before = await world.call(tokens.viewer, 'GET', `/agents/${agent.id}`);

  const empty = await world.call(tokens.member, 'PATCH', `/agents/${agent.id}`, { body: {} });
  await world.call(tokens.member, 'PATCH', `/agents/${agent.id}`, { body: { name: 'Other' } });
  const stale = await world.call(tokens.member, 'PATCH', `/agents/${agent.id}`, {
    body: { name: 'Late' },
    headers: { 'if-match': before.headers['etag'] ?? '' },
  });

  expect(empty.body.updated_at).toBe(before.body.updated_at);
  expect(empty.headers['etag']).toBe(before.headers['etag']);
  expect(stale).toMatchObject({ status: 412, body: { code: 'precondition_failed' } });
  expect(stale.body.context.etag).toBeDefined();
});

test('activate at creation needs admin and a revision', async () => {
  const { tokens } = await world.tenant();
  const revision = { instructions: 'Hi' };

  const byMember = await world.call(tokens.member, 'POST', '/agents', { body: { slug: 'a', name: 'A', revision, activate: true } });
  const without = await world.call(tokens.admin, 'POST', '/agents', { body: { slug: 'a', name: 'A', activate: true } });
  const byAdmin = await world.call(tokens.admin, 'POST', '/agents', { body: { slug: 'a', name: 'A', revision, activate: true } });

  expect(byMember).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(without).toMatchObject({ status: 422, body: { errors: [{ pointer: '/revision', rule: 'required' }] } });
  expect(byAdmin.status).toBe(201);
  expect(byAdmin.body.active_revision).toMatchObject({
    number: 1,
    is_active: true,
    id: byAdmin.body.active_revision_id,
    document: { schema_version: 1, instructions: 'Hi', limits: { max_steps: 50 } },
  });
});

test('a slug is unique per scope and what belongs to later areas is refused', async () => {
  const { tokens, organizationAdmin } = await world.tenant();
  await world.call(tokens.member, 'POST', '/agents', { body: { slug: 'same', name: 'A' } });

  const again = await world.call(tokens.member, 'POST', '/agents', { body: { slug: 'same', name: 'B' } });
  const wider = await world.call(organizationAdmin.token, 'POST', '/agents', { body: { slug: 'same', name: 'C', scope: 'organization' } });
  const tooWide = await world.call(tokens.admin, 'POST', '/agents', { body: { slug: 'wide', name: 'D', scope: 'organization' } });
  const later = await world.call(tokens.member, 'POST', '/agents', { body: { slug: 'x', name: 'X', personas: [] } });
  const unknown = await world.call(tokens.member, 'POST', '/agents', { body: { slug: 'x', name: 'X', revision: { nonsense: [] } } });

  expect(again).toMatchObject({ status: 409, body: { code: 'already_exists' } });
  expect(wider).toMatchObject({ status: 201, body: { scope: 'organization', workspace_id: null } });
  expect(tooWide).toMatchObject({ status: 403, body: { code: 'role_insufficient', context: { reason: 'scope_too_wide' } } });
  expect(later).toMatchObject({ status: 422, body: { errors: [{ rule: 'unknown_field' }] } });
  expect(unknown.status).toBe(422);
});

test('q is a substring in which % and _ are letters, and the filters narrow', async () => {
  const { tokens } = await world.tenant();
  const create = (slug: string, name: string, is_active = true) =>
    world.call(tokens.member, 'POST', '/agents', { body: { slug, name, is_active } });
  await create('one', '100% Sure');
  await create('two', 'snake_case');
  await create('three', 'Plain', false);
  const slugs = async (query: string) =>
    (await world.call(tokens.viewer, 'GET', `/agents?${query}`)).body.items.map((agent: { slug: string }) => agent.slug);

  expect(await slugs('q=%25')).toEqual(['one']);
  expect(await slugs('q=_')).toEqual(['two']);
  expect(await slugs('q=PLAIN')).toEqual(['three']);
  expect(await slugs('is_active=true')).toEqual(['two', 'one']);
  expect(await slugs('scope=organization')).toEqual([]);
  expect(await slugs('limit=1&offset=2')).toEqual(['one']);
});

test("another tenant's agent is 404 and in no list; an organization's agent is visible but not changeable in a workspace", async () => {
  const [mine, other] = await Promise.all([world.tenant(), world.tenant()]);
  const agent = await makeAgent(world, mine.tokens.admin);
  const shared = await makeAgent(world, mine.organizationAdmin.token, { scope: 'organization' });

  const read = await world.call(other.tokens.owner, 'GET', `/agents/${agent.id}`);
  const patch = await world.call(other.tokens.owner, 'PATCH', `/agents/${agent.id}`, { body: { name: 'x' } });
  const list = await world.call(other.tokens.owner, 'GET', '/agents');
  const seen = await world.call(mine.tokens.viewer, 'GET', `/agents/${shared.id}`);
  const forbidden = await world.call(mine.tokens.admin, 'PATCH', `/agents/${shared.id}`, { body: { name: 'x' } });

  expect(read).toMatchObject({ status: 404, body: { code: 'not_found' } });
  expect(patch.status).toBe(404);
  expect(list.body.items).toEqual([]);
  expect(seen.status).toBe(200);
  expect(forbidden).toMatchObject({ status: 403, body: { code: 'resource_forbidden' } });
});

test('an image address passes the egress guard, and the audit entry says what has changed', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const patch = (body: object) => world.call(tokens.member, 'PATCH', `/agents/${agent.id}`, { body });

  const refused = await patch({ image_url: 'http://10.0.0.1/a.png' });
  await patch({ image_url: 'https://example.com/a.png', name: 'Agent' });

  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/image_url', rule: 'egress' }] } });
  const entries = await sweep(world.api.db, (em) =>
    rows<object>(em, "select changes from audit_entries where resource_id = ? and operation_id = 'updateAgent'", [agent.id]),
  );
  expect(entries).toEqual([{ changes: { image_url: { from: null, to: 'https://example.com/a.png' } } }]);
});

test('a new revision shows in the count although the version of the agent stays', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const before = await world.call(tokens.viewer, 'GET', `/agents/${agent.id}`);
  await world.call(tokens.member, 'POST', `/agents/${agent.id}/revisions`, { body: { document: {} } });

  const after = await world.call(tokens.viewer, 'GET', `/agents/${agent.id}`, {
    headers: { 'if-none-match': before.headers['etag'] ?? '' },
  });

  expect(after).toMatchObject({ status: 200, body: { revision_count: 2 } });
});
