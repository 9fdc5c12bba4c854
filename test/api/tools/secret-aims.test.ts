import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { openWorld, type World } from '../world.ts';
import { manualTool, toolkitMaker } from './toolkit-world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const bearer = { type: 'bearer', secret: 'key' };
const oauth = (tokenUrl: string) => ({ type: 'oauth2_client_credentials', token_url: tokenUrl, client_id: 'c', secret: 'key' });
const http = (url: string, auth: object = bearer) => ({ method: 'GET', url, auth });
const search = (baseUrl: string) => ({ provider: 'searxng', base_url: baseUrl, secret: 'key' });
const home = 'https://api.example.com';
const slug = () => `t-${crypto.randomUUID().slice(0, 8)}`;

function makerOf(tenant: TestTenant, token = tenant.tokens.admin) {
  const call: World['call'] = (as, method, path, options) => world.call(as, method, path, options);
  return {
    create: (config: object, more: object = {}, kind = 'http') =>
      call(token, 'POST', '/tools', { body: { slug: slug(), kind, description: 'x', config, ...more } }),
    update: (id: string, config: object) => call(token, 'PATCH', `/tools/${id}`, { body: { config } }),
    own: (id: string, values: object = { key: 'value-of-the-tool' }) => call(token, 'PUT', `/tools/${id}/secrets`, { body: { values } }),
    shared: (body: object = {}) =>
      call(tenant.organizationOwner.token, 'PUT', '/secrets/key', { body: { value: 'shared-value', ...body } }),
  };
}

async function ownNames(toolId: string): Promise<string[]> {
  const found = await sweep(world.api.db, (em) => rows<{ name: string }>(em, 'select name from secrets where tool_id = ?', [toolId]));
  return found.map(({ name }) => name);
}

test.each([
  ['another host', http(`${home}/a`), http('https://evil.example/a'), 'http'],
  ['a host that begins alike', http(`${home}/a`), http('https://api.example.com.evil.example/a'), 'http'],
  ['a host below it', http(`${home}/a`), http('https://x.api.example.com/a'), 'http'],
  ['another token server', http(home, oauth(`${home}/token`)), http(home, oauth('https://evil.example/token')), 'http'],
  [
    'another server for the token',
    http(home, oauth('https://id.example/t')),
    http('https://evil.example', oauth('https://id.example/t')),
    'http',
  ],
  ['the value to whom only tokens went', http(home, oauth('https://id.example/t')), http(home), 'http'],
  ['another server to search', search('https://search.example'), search('https://evil.example'), 'web_search'],
  ['another provider to search', { provider: 'brave', secret: 'key' }, search('https://evil.example'), 'web_search'],
])('a tool that is aimed at %s loses its own values, and says so to the audit log', async (_case, before, after, kind) => {
  const { create, update, own } = makerOf(await world.tenant());
  const { id } = (await create(before, {}, kind)).body;
  await own(id);

  const changed = await update(id, after);

  expect(changed).toMatchObject({ status: 200, body: { secrets_required: ['key'] } });
  expect(await ownNames(id)).toEqual([]);
  const entries = await sweep(world.api.db, (em) =>
    rows(em, "select changes from audit_entries where resource_id = ? and operation_id = 'updateTool'", [id]),
  );
  expect(entries).toMatchObject([{ changes: { key: { changed: true } } }]);
  expect((await own(id)).status).toBe(200);
});

test.each([
  ['another path', http(`${home}/a`), http(`${home}/b/{{ args.n }}`)],
  ['the same origin in other letters', http(`${home}/a`), http('HTTPS://API.example.com:443/a')],
  ['another header', http(home), http(home, { type: 'api_key', in: 'header', name: 'x-key', secret: 'key' })],
  ['the token server that had the value already', http(home, oauth('https://id.example/t')), http('https://id.example/x')],
])('a change of %s keeps them', async (_case, before, after) => {
  const { create, update, own } = makerOf(await world.tenant());
  const { id } = (await create(before)).body;
  await own(id);

  expect((await update(id, after)).status).toBe(200);
  expect(await ownNames(id)).toEqual(['key']);
});

test('no detour takes a value along: neither by a config that names no secret nor by one of the client', async () => {
  const { create, update, own } = makerOf(await world.tenant());
  const { id } = (await create(http(home), { secrets_required: ['key'] })).body;
  await own(id);

  await update(id, http('https://evil.example', { type: 'none' }));
  await update(id, http('https://evil.example'));

  expect(await ownNames(id)).toEqual([]);
});

/** Keys of the first workspace that may change tools, with and without the right to set secrets. */
async function keysOf({ organizationOwner, workspaceId }: TestTenant): Promise<[tools: string, both: string]> {
  const make = async (scopes: string[]) => {
    const body = { name: scopes.join(), role: 'admin', scopes, workspace_id: workspaceId };
    return (await world.call(organizationOwner.token, 'POST', '/service-keys', { body })).body.plaintext;
  };
  return [await make(['tools:write', 'tools:read', 'mcp:write']), await make(['tools:write', 'tools:read', 'organizations:write'])];
}

const lacking = { status: 403, body: { code: 'scope_insufficient', context: { required_scopes: ['organizations:write'] } } };

test("a workspace's secret is aimed at a new origin only by who may set it there", async () => {
  const tenant = await world.tenant();
  const [toolsOnly, both] = await keysOf(tenant);
  const [without, within] = [makerOf(tenant, toolsOnly), makerOf(tenant, both)];
  await within.shared({ workspace_id: tenant.workspaceId });
  const { id } = (await within.create(http(home))).body;

  expect(await without.update(id, http('https://evil.example'))).toMatchObject(lacking);
  expect(await without.create(http('https://evil.example'))).toMatchObject(lacking);
  expect(await without.create(search('https://evil.example'), {}, 'web_search')).toMatchObject(lacking);
  expect((await without.update(id, http(`${home}/elsewhere`))).status).toBe(200);
  expect((await without.create(http('https://evil.example', { type: 'none' }))).status).toBe(201);
  expect((await without.create(http('https://evil.example', { type: 'bearer', secret: 'nobody_has_it' }))).status).toBe(201);
  expect((await within.update(id, http('https://new.example'))).status).toBe(200);
});

test('neither renaming the secret at the same origin nor a tool of a foreign workspace counts as aimed already', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const [toolsOnly, both] = await keysOf(tenant);
  const [without, within] = [makerOf(tenant, toolsOnly), makerOf(tenant, both)];
  const { id } = (await without.create(http('https://evil.example', { type: 'bearer', secret: 'mine' }))).body;

  await within.shared({ workspace_id: tenant.workspaceIds[1] });
  expect((await without.update(id, http('https://evil.example'))).status).toBe(200);
  await without.update(id, http('https://evil.example', { type: 'bearer', secret: 'mine' }));
  await within.shared({ workspace_id: tenant.workspaceId });
  expect(await without.update(id, http('https://evil.example'))).toMatchObject(lacking);
});

test("an organization's secret, and a workspace's that its tool would take, ask for the organization", async () => {
  const tenant = await world.tenant();
  const { organizationAdmin, organizationOwner, tokens } = tenant;
  const owner = makerOf(tenant, organizationOwner.token);
  await owner.shared({ scope: 'organization' });
  const { id } = (await owner.create(http(home), { scope: 'organization' })).body;

  expect((await makerOf(tenant, tokens.owner).update(id, http('https://evil.example'))).status).toBe(403);
  expect((await makerOf(tenant, organizationAdmin.token).update(id, http('https://new.example'))).status).toBe(200);
  // A tool of the workspace never takes the organization's value, so it may go anywhere.
  const [toolsOnly] = await keysOf(tenant);
  expect((await makerOf(tenant, toolsOnly).create(http('https://evil.example'))).status).toBe(201);
});

test('an operator in the place of a user aims no secret that it may not set', async () => {
  const tenant = await world.tenant();
  const { create, shared } = makerOf(tenant);
  await shared({ workspace_id: tenant.workspaceId });
  const { id } = (await create(http(home))).body;
  const body = { user_id: tenant.users.admin.id, reason: 'looking at a reported fault', minutes: 10 };
  const inside = (await world.call(tenant.tokens.operator, 'POST', '/impersonations', { body })).body;

  const refused = await makerOf(tenant, inside.access_token).update(id, http('https://evil.example'));

  expect(refused).toMatchObject({ status: 403, body: { code: 'resource_forbidden', context: { reason: 'impersonated' } } });
});

test.each([
  ['openapi', (origin: string) => ({ base_url: `${origin}/v1`, auth: bearer })],
  ['openapi', (origin: string) => ({ base_url: home, auth: oauth(`${origin}/token`) })],
  ['mcp', (origin: string) => ({ url: `${origin}/mcp`, auth: bearer })],
  ['mcp', (origin: string) => ({ url: `${origin}/mcp`, auth: { type: 'headers', headers: { 'x-key': 'key' } } })],
] as const)('a toolkit of kind %s is held to the same', async (kind, config) => {
  const tenant = await world.tenant();
  const [toolsOnly, both] = await keysOf(tenant);
  const make = (token: string, origin: string) =>
    world.call(token, 'POST', '/toolkits', { body: { slug: slug(), name: 'Kit', kind, config: config(origin) } });
  const change = (token: string, id: string, origin: string) =>
    world.call(token, 'PATCH', `/toolkits/${id}`, { body: { config: config(origin) } });
  await makerOf(tenant).shared({ workspace_id: tenant.workspaceId });

  expect(await make(toolsOnly, 'https://evil.example')).toMatchObject(lacking);
  const { id } = (await make(both, home)).body;
  expect(await change(toolsOnly, id, 'https://evil.example')).toMatchObject(lacking);
  expect((await change(toolsOnly, id, home)).status).toBe(200);
  expect((await change(both, id, 'https://new.example')).status).toBe(200);
});

const document = JSON.stringify({
  openapi: '3.1.0',
  info: { title: 'x', version: '1' },
  paths: { '/orders': { get: { operationId: 'listOrders', responses: { 200: { description: 'x' } } } } },
});

test('tools of a toolkit whose address becomes another lose their own values at once', async () => {
  const tenant = await world.tenant();
  const kit = toolkitMaker(world, tenant);
  const { id } = await kit.toolkit({ kind: 'openapi', config: { base_url: `${home}/v1`, auth: bearer } });
  const activateNew = async () => {
    const revision = await kit.post(`/toolkits/${id}/revisions`, { source: { type: 'openapi', document } });
    expect((await kit.activate(id, revision.body.id)).status).toBe(200);
  };
  await activateNew();
  const [tool] = await kit.tools(id);
  const { own } = makerOf(tenant);
  const move = (baseUrl: string) =>
    world.call(tenant.tokens.admin, 'PATCH', `/toolkits/${id}`, { body: { config: { base_url: baseUrl, auth: bearer } } });
  await own(tool.id);

  await move(`${home}/v2`);
  expect(await ownNames(tool.id)).toEqual(['key']);
  await move('https://new.example/v2');
  expect(await ownNames(tool.id)).toEqual([]);

  await own(tool.id);
  await activateNew();
  expect((await kit.tools(id))[0].config.url).toBe('https://new.example/v2/orders');
  expect(await ownNames(tool.id)).toEqual(['key']);
});

test('a revision made by hand takes no value to another origin, forth or back', async () => {
  const tenant = await world.tenant();
  const kit = toolkitMaker(world, tenant);
  const { own, shared } = makerOf(tenant);
  const [toolsOnly] = await keysOf(tenant);
  const { id } = await kit.toolkit({ secrets_required: ['key'] });
  const at = (origin: string) => manualTool('orders', { config: http(`${origin}/orders`) });
  const [first, same, other] = [
    await kit.revision(id, [at(home)]),
    await kit.revision(id, [manualTool('orders', { config: http(`${home}/more`) })]),
    await kit.revision(id, [at('https://evil.example')]),
  ];
  await kit.activate(id, first.id);
  const [tool] = await kit.tools(id);

  await own(tool.id);
  await kit.activate(id, same.id);
  expect(await ownNames(tool.id)).toEqual(['key']);
  await kit.activate(id, other.id);
  expect(await ownNames(tool.id)).toEqual([]);
  await own(tool.id);
  await kit.activate(id, first.id);
  expect(await ownNames(tool.id)).toEqual([]);

  await shared({ workspace_id: tenant.workspaceId });
  const activate = (token: string) =>
    world.call(token, 'POST', `/toolkits/${id}/revisions/${other.id}/activate`, { body: { approve: 'all' } });
  expect(await activate(toolsOnly)).toMatchObject(lacking);
  expect((await activate(tenant.tokens.admin)).status).toBe(200);
});
