import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import { png, upload } from '../attachments/uploads.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { manualTool, toolkitMaker } from './toolkit-world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const openapi = { kind: 'openapi', config: { base_url: 'https://api.example.com/v1/', auth: { type: 'bearer', secret: 'api_key' } } };
const document = (summary: string) =>
  JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Orders', version: '1' },
    paths: {
      '/orders': { get: { operationId: 'listOrders', summary }, post: { operationId: 'makeOrder', summary: 'Make' } },
    },
  });

test('createToolkit fills the defaults of its kind and getToolkit shows the same', async () => {
  const tenant = await world.tenant();
  const { post, get } = toolkitMaker(world, tenant);

  const mcp = await post('/toolkits', {
    slug: 'far',
    name: 'Far',
    kind: 'mcp',
    config: { url: 'https://mcp.example.com/mcp', auth: { type: 'oauth' } },
  });
  const read = await get(`/toolkits/${mcp.body.id}`);
  const list = await get('/toolkits');

  expect(mcp.status).toBe(201);
  expect(mcp.headers['location']).toBe(`/toolkits/${mcp.body.id}`);
  expect(read.body).toEqual(mcp.body);
  expect(read.headers['etag']).toBeDefined();
  expect(list.body.items).toEqual([mcp.body]);
  expect(mcp.body).toMatchObject({
    scope: 'workspace',
    workspace_id: tenant.workspaceId,
    config: {
      url: 'https://mcp.example.com/mcp',
      transport: 'auto',
      auth: { type: 'oauth', mode: 'shared', scopes: [], client_id: null },
      on_change: 'block',
      sync_interval_s: null,
    },
    secrets_required: [],
    active_revision_id: null,
    latest_revision_number: 0,
    tool_count: 0,
    quarantined_count: 0,
    is_active: true,
  });
});

test.each([
  ['another kind', { kind: 'grpc' }, '/kind'],
  ['a config of another kind', { kind: 'mcp', config: { base_url: 'https://a.example.com' } }, '/config'],
  ['an unknown field of a config', { config: { surprise: 1 } }, '/config/surprise'],
  ['plain http', { kind: 'mcp', config: { url: 'http://mcp.example.com/' } }, '/config/url'],
  ['a private address', { kind: 'openapi', config: { base_url: 'https://10.0.0.1/' } }, '/config/base_url'],
  ['a templated address', { kind: 'openapi', config: { base_url: 'https://a.example.com/{{ args.x }}' } }, '/config/base_url'],
  ['a query in the base address', { kind: 'openapi', config: { base_url: 'https://a.example.com/?k=1' } }, '/config/base_url'],
  ['user and password', { kind: 'mcp', config: { url: 'https://u:p@mcp.example.com/' } }, '/config/url'],
  [
    'a header that frames the request',
    { kind: 'mcp', config: { url: 'https://mcp.example.com/', auth: { type: 'headers', headers: { Host: 'key' } } } },
    '/config/auth/headers/Host',
  ],
  ['syncs too often', { kind: 'mcp', config: { url: 'https://mcp.example.com/', sync_interval_s: 60 } }, '/config/sync_interval_s'],
  [
    'a token address inside',
    {
      ...openapi,
      config: {
        base_url: 'https://a.example.com',
        auth: { type: 'oauth2_client_credentials', token_url: 'https://127.0.0.1/t', client_id: 'c', secret: 's' },
      },
    },
    '/config/auth/token_url',
  ],
  ['a slug that is too long', { slug: 'k'.repeat(41) }, '/slug'],
])('createToolkit refuses %s', async (_name, change, pointer) => {
  const { post } = toolkitMaker(world, await world.tenant());

  const refused = await post('/toolkits', { slug: 'kit', name: 'Kit', kind: 'manual', config: {}, ...change });

  expect(refused.status).toBe(422);
  expect(refused.body.errors.some((error: { pointer: string }) => error.pointer.startsWith(pointer))).toBe(true);
});

test('a slug is taken once', async () => {
  const { post } = toolkitMaker(world, await world.tenant());
  const body = { slug: 'kit', name: 'Kit', kind: 'manual', config: {} };

  const answers = [await post('/toolkits', body), await post('/toolkits', body)];

  expect(answers.map(({ status }) => status)).toEqual([201, 409]);
  expect(answers[1]?.body.context).toMatchObject({ field: 'slug' });
});

test('a document becomes tools once its revision is activated, below the base address and with its auth', async () => {
  const kit = toolkitMaker(world, await world.tenant());
  const { id } = await kit.toolkit(openapi);

  const made = await kit.post(`/toolkits/${id}/revisions`, { source: { type: 'openapi', document: document('List orders') }, note: 'one' });
  const before = await kit.tools(id);
  const activated = await kit.activate(id, made.body.id, { approve: 'all', overrides: { makeOrder: { critical: true, timeout_s: 9 } } });
  const [list, make] = await kit.tools(id);

  expect(made).toMatchObject({ status: 201, body: { number: 1, state: 'inactive', origin: 'openapi', note: 'one', activated_at: null } });
  expect(made.body.diff).toEqual([
    { name: 'listOrders', change: 'added', fields: [] },
    { name: 'makeOrder', change: 'added', fields: [] },
  ]);
  expect(made.body.tools[0]).not.toHaveProperty('execution');
  expect(before).toEqual([]);
  expect(activated).toMatchObject({ status: 200, body: { active_revision_id: made.body.id, tool_count: 2, latest_revision_number: 1 } });
  expect(list).toMatchObject({ slug: 'kit__listorders', kind: 'http', effect: 'read', critical: false, secrets_required: ['api_key'] });
  expect(list.config).toMatchObject({
    method: 'GET',
    url: 'https://api.example.com/v1/orders',
    auth: { type: 'bearer', secret: 'api_key' },
  });
  expect(make).toMatchObject({ slug: 'kit__makeorder', effect: 'write', concurrency: 'write', critical: true, timeout_s: 9 });
});

test('a document that can not be used is 422 and names the places; a wrong include too', async () => {
  const kit = toolkitMaker(world, await world.tenant());
  const { id } = await kit.toolkit(openapi);
  const send = (source: unknown) => kit.post(`/toolkits/${id}/revisions`, { source });

  const unread = { '/a/{x}': { get: { parameters: [{ $ref: 'other.yaml' }] } } };
  const broken = await send({ type: 'openapi', document: JSON.stringify({ openapi: '3.1.0', paths: unread }) });
  const unknown = await send({ type: 'openapi', document: document('x'), include: ['listOrders', 'nothing'] });
  const unknownOut = await send({ type: 'openapi', document: document('x'), exclude: ['nothing'] });
  const neither = await send({ type: 'openapi' });
  const missing = await send({ type: 'openapi', attachment_id: crypto.randomUUID() });
  const other = await send({ type: 'manual', tools: [] });

  expect(broken).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/source/document', params: { at: '/paths/~1a~1{x}/get/parameters/0' } }] },
  });
  expect(unknown).toMatchObject({ status: 422, body: { errors: [{ pointer: '/source/include/1', rule: 'reference' }] } });
  expect(unknownOut).toMatchObject({ status: 422, body: { errors: [{ pointer: '/source/exclude/0', rule: 'reference' }] } });
  expect(neither).toMatchObject({ status: 422, body: { errors: [{ pointer: '/source' }] } });
  expect(missing).toMatchObject({ status: 422, body: { errors: [{ pointer: '/source/attachment_id', rule: 'reference' }] } });
  expect(other).toMatchObject({ status: 422, body: { errors: [{ pointer: '/source/type' }] } });
});

test('a revision tells what of its document it left out, and why; include and exclude go before', async () => {
  const kit = toolkitMaker(world, await world.tenant());
  const { id } = await kit.toolkit(openapi);
  const paths = {
    '/a': { get: { operationId: 'readA', tags: ['a'] }, options: { operationId: 'askA', tags: ['odd'] } },
    '/b': {
      get: { operationId: 'readB', tags: ['b'] },
      delete: { operationId: 'dropB', tags: ['b'], parameters: [{ $ref: 'other.yaml' }] },
    },
  };
  const send = (more: object) =>
    kit.post(`/toolkits/${id}/revisions`, { source: { type: 'openapi', document: JSON.stringify({ openapi: '3.0.3', paths }), ...more } });

  const all = await send({});
  const chosen = await send({ include: ['a', 'b'], exclude: ['odd', 'dropB'] });
  const { items } = (await kit.get(`/toolkits/${id}/revisions`)).body;

  expect(all).toMatchObject({
    status: 201,
    body: {
      error:
        'Left out: askA cannot be sent: no tool has its method, at /paths/~1a/options; dropB cannot be sent: only references inside the document are followed, at /paths/~1b/delete/parameters/0',
      left_out_count: 2,
      left_out: [
        { name: 'askA', reason: 'cannot be sent: no tool has its method, at /paths/~1a/options' },
        { name: 'dropB', reason: expect.stringMatching(/^cannot be sent: only references inside/) },
      ],
    },
  });
  expect(all.body.tools.map(({ name }: { name: string }) => name)).toEqual(['readA', 'readB']);
  expect(chosen).toMatchObject({
    status: 201,
    body: { left_out_count: 0, left_out: [], error: null, tools: [{ name: 'readA' }, { name: 'readB' }] },
  });
  expect(items[1]).toMatchObject({ left_out_count: 2, left_out: all.body.left_out });
});

test('a document may come as an attachment', async () => {
  const tenant = await world.tenant();
  const kit = toolkitMaker(world, tenant);
  const { id } = await kit.toolkit(openapi);
  const file = await upload(world, tenant.tokens.admin, document('From a file'), { filename: 'api.json', fields: { purpose: 'toolkit' } });
  const binary = await upload(world, tenant.tokens.admin, png, { filename: 'api.png', fields: { purpose: 'toolkit' } });
  const send = (attachment: typeof file) =>
    kit.post(`/toolkits/${id}/revisions`, { source: { type: 'openapi', attachment_id: attachment.body['id'] } });

  const made = await send(file);
  const refused = await send(binary);

  expect(made).toMatchObject({ status: 201, body: { tools: [{ description: 'From a file' }, { name: 'makeOrder' }] } });
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/source/attachment_id' }] } });
});

test('a document of more than 20 MiB is read from an attachment', async () => {
  const tenant = await world.tenant();
  const kit = toolkitMaker(world, tenant);
  const { id } = await kit.toolkit(openapi);
  const small = document('Large');
  const large = `${small.slice(0, -1)},"x-filler":[${'{"name":"filler","of":["a","b"]},'.repeat(700_000)}1]}`;
  const send = async (text: string) => {
    const file = await upload(world, tenant.tokens.admin, text, { filename: 'api.json', fields: { purpose: 'toolkit' } });
    return kit.post(`/toolkits/${id}/revisions`, { source: { type: 'openapi', attachment_id: file.body['id'] } });
  };

  const made = await send(large);

  expect(Buffer.byteLength(large)).toBeGreaterThan(20 * 1024 * 1024);
  expect(made).toMatchObject({ status: 201, body: { tools: [{ description: 'Large' }, { name: 'makeOrder' }] } });
});

test('the revisions of an MCP server come with a sync only', async () => {
  const kit = toolkitMaker(world, await world.tenant());
  const { id } = await kit.toolkit({ kind: 'mcp', config: { url: 'https://mcp.example.com/' } });

  const refused = await kit.post(`/toolkits/${id}/revisions`, { source: { type: 'manual', tools: [] } });

  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/source/type', params: { kind: 'mcp' } }] } });
});

test('a config by hand is checked like that of a tool, and names are unique', async () => {
  const kit = toolkitMaker(world, await world.tenant());
  const { id } = await kit.toolkit();
  const send = (tools: unknown[]) => kit.post(`/toolkits/${id}/revisions`, { source: { type: 'manual', tools } });

  const inside = await send([manualTool('a'), manualTool('b', { config: { method: 'GET', url: 'https://10.0.0.1/' } })]);
  const schema = await send([manualTool('a', { input_schema: { type: 'string' } })]);
  const twice = await send([manualTool('a'), manualTool('a')]);

  expect(inside).toMatchObject({ status: 422, body: { errors: [{ pointer: '/source/tools/1/config/url', rule: 'egress' }] } });
  expect(schema).toMatchObject({ status: 422, body: { errors: [{ pointer: '/source/tools/0/input_schema/type' }] } });
  expect(twice).toMatchObject({ status: 422, body: { errors: [{ pointer: '/source/tools/1/name' }] } });
});

test('another address or auth quarantines every tool until an activation approves it anew', async () => {
  const tenant = await world.tenant();
  const kit = toolkitMaker(world, tenant);
  const { id } = await kit.toolkit(openapi);
  const source = { type: 'openapi', document: document('List') };
  const first = await kit.post(`/toolkits/${id}/revisions`, { source });
  await kit.activate(id, first.body.id);
  const patch = (body: unknown) => world.call(tenant.tokens.admin, 'PATCH', `/toolkits/${id}`, { body });

  const renamed = await patch({ name: 'Renamed' });
  const moved = await patch({ config: { base_url: 'https://other.example.com' } });
  const second = await kit.post(`/toolkits/${id}/revisions`, { source });
  const approved = await kit.activate(id, second.body.id);

  expect(renamed.body).toMatchObject({ name: 'Renamed', quarantined_count: 0, config: { base_url: 'https://api.example.com/v1' } });
  expect(moved.body).toMatchObject({ quarantined_count: 2, config: { base_url: 'https://other.example.com', auth: { type: 'none' } } });
  expect(second.body).toMatchObject({ state: 'inactive', diff: [{ change: 'unchanged' }, { change: 'unchanged' }] });
  expect(approved.body).toMatchObject({ quarantined_count: 0, tool_count: 2 });
  expect((await kit.tools(id))[0]).toMatchObject({ config: { url: 'https://other.example.com/orders' }, secrets_required: [] });
});

test('updateToolkit holds the config against the kind and If-Match against the version', async () => {
  const tenant = await world.tenant();
  const kit = toolkitMaker(world, tenant);
  const { id } = await kit.toolkit(openapi);
  const patch = (body: unknown, headers = {}) => world.call(tenant.tokens.admin, 'PATCH', `/toolkits/${id}`, { body, headers });

  const wrong = await patch({ config: { url: 'https://mcp.example.com/' } });
  const stale = await patch({ name: 'x' }, { 'if-match': '"7"' });

  expect(wrong.status).toBe(422);
  expect(wrong.body.errors.map((error: { pointer: string }) => error.pointer)).toContain('/config/url');
  expect(stale.status).toBe(412);
});

test('a toolkit that an active revision binds stays; unbound it goes with its tools', async () => {
  const tenant = await world.tenant();
  const kit = toolkitMaker(world, tenant);
  const { id } = await kit.toolkit();
  const { id: revisionId } = await kit.revision(id, [manualTool('a')]);
  await kit.activate(id, revisionId);
  const [tool] = await kit.tools(id);
  const revision = { model: 'builtin/extractive', instructions: 'Answer.', tools: [{ slug: tool.slug }] };
  const agent = await makeAgent(world, tenant.tokens.admin, { revision });
  const drop = () => world.call(tenant.tokens.admin, 'DELETE', `/toolkits/${id}`);

  const refused = await drop();
  await sweep(world.api.db, (em) => rows(em, 'update agents set active_revision_id = null where id = ?', [agent.id]));
  const dropped = await drop();

  expect(refused).toMatchObject({ status: 409, body: { context: { reason: 'in_use', used_by: [agent.id] } } });
  expect(dropped.status).toBe(204);
  expect((await kit.get(`/toolkits/${id}`)).status).toBe(404);
  expect((await kit.get(`/tools/${tool.id}`)).status).toBe(404);
  expect((await kit.post('/toolkits', { slug: 'kit', name: 'Kit', kind: 'manual', config: {} })).status).toBe(201);
});

test('members read toolkits and change none; another tenant sees nothing', async () => {
  const [tenant, other] = await Promise.all([world.tenant(), world.tenant()]);
  const kit = toolkitMaker(world, tenant);
  const { id } = await kit.toolkit();
  const { id: revisionId } = await kit.revision(id, [manualTool('a')]);
  const body = { source: { type: 'manual', tools: [] } };

  const answers = [
    await world.call(tenant.tokens.member, 'POST', `/toolkits/${id}/revisions`, { body }),
    await world.call(tenant.tokens.member, 'DELETE', `/toolkits/${id}`),
    await world.call(tenant.tokens.viewer, 'GET', `/toolkits/${id}/revisions`),
    await world.call(other.tokens.admin, 'GET', `/toolkits/${id}`),
    await world.call(other.tokens.admin, 'GET', `/toolkits/${id}/revisions`),
    await world.call(other.tokens.admin, 'POST', `/toolkits/${id}/revisions`, { body }),
    await world.call(other.tokens.admin, 'POST', `/toolkits/${id}/revisions/${revisionId}/activate`, { body: { approve: 'all' } }),
    await world.call(other.tokens.admin, 'POST', `/toolkits/${id}/revisions`, { body: { source: { type: 'openapi', document: 'x' } } }),
  ];

  expect(answers.map(({ status }) => status)).toEqual([403, 403, 200, 404, 404, 404, 404, 404]);
});

test('lists and reads of toolkits take at most three queries', async () => {
  let queries: string[] = [];
  const counted = await openWorld({ onQuery: (sql) => queries.push(sql) });
  try {
    const kit = toolkitMaker(counted, await counted.tenant());
    const { id } = await kit.toolkit();
    const { id: revisionId } = await kit.revision(id, [manualTool('a'), manualTool('b')]);
    await kit.activate(id, revisionId);
    const counts: number[] = [];
    for (const path of ['/toolkits', `/toolkits/${id}`, `/toolkits/${id}/revisions`]) {
      queries = [];
      await kit.get(path);
      counts.push(queries.length);
    }

    expect(Math.max(...counts)).toBeLessThanOrEqual(3);
    expect(Math.min(...counts)).toBeGreaterThan(0);
  } finally {
    await counted.close();
  }
});
