import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const http = { method: 'POST', url: 'https://api.example.com/things/{{ args.id }}' };

test('createTool fills the defaults of its kind and getTool shows the same', async () => {
  const { tokens, workspaceId } = await world.tenant();

  const made = await world.call(tokens.admin, 'POST', '/tools', {
    body: { slug: 'things', kind: 'http', description: 'Makes things', config: http },
  });
  const read = await world.call(tokens.viewer, 'GET', `/tools/${made.body.id}`);

  expect(made.status).toBe(201);
  expect(read.body).toEqual(made.body);
  expect(read.headers['etag']).toBeDefined();
  expect(read.body).toMatchObject({
    scope: 'workspace',
    workspace_id: workspaceId,
    slug: 'things',
    kind: 'http',
    display_name: null,
    effect: 'write',
    concurrency: 'write',
    critical: false,
    client_owned: false,
    secrets_required: [],
    response_max_chars: 20_000,
    timeout_s: 60,
    is_active: true,
    input_schema: { type: 'object' },
    config: {
      ...http,
      query: {},
      headers: {},
      body: { mode: 'none', template: null },
      auth: { type: 'none' },
      response: { pointer: null, success: [] },
      idempotency_header: null,
      redirects: 0,
    },
  });
});

test('the kind fixes the input schema of web_fetch and builtin tools', async () => {
  const { tokens } = await world.tenant();

  const fetch = await world.call(tokens.admin, 'POST', '/tools', { body: { slug: 'web', kind: 'web_fetch', description: 'Reads pages' } });
  const clock = await world.call(tokens.admin, 'POST', '/tools', {
    body: { slug: 'clock', kind: 'builtin', description: 'Time', config: { name: 'current_time' } },
  });
  const own = await world.call(tokens.admin, 'POST', '/tools', {
    body: { slug: 'own', kind: 'web_fetch', description: 'x', input_schema: { type: 'object' } },
  });
  const nameless = await world.call(tokens.admin, 'POST', '/tools', { body: { slug: 'own', kind: 'builtin', description: 'x' } });

  expect(fetch.body).toMatchObject({
    effect: 'read',
    input_schema: { required: ['url'] },
    config: { max_bytes: 2_097_152, format: 'markdown', robots: true, cache_s: 300 },
  });
  expect(clock.body).toMatchObject({ effect: 'read', config: { name: 'current_time', options: {} } });
  expect(own).toMatchObject({ status: 422, body: { errors: [{ pointer: '/input_schema' }] } });
  expect(nameless.status).toBe(422);
});

test.each([
  ['a kind that comes with its toolkit', { kind: 'remote_protocol', config: {} }, '/kind'],
  ['21 secrets', { secrets_required: Array.from({ length: 21 }, (_, at) => `key${at}`) }, '/secrets_required'],
  ['a secret by its value', { config: { ...http, auth: { type: 'bearer', secret: 'not a name' } } }, '/config/auth/secret'],
  ['an auth without its secret', { config: { ...http, auth: { type: 'basic', user: 'me' } } }, '/config/auth/secret'],
  ['an auth of no kind', { config: { ...http, auth: { type: 'magic' } } }, '/config/auth'],
  [
    'a key in a reserved header',
    { config: { ...http, auth: { type: 'api_key', in: 'header', name: 'Host', secret: 's' } } },
    '/config/auth/name',
  ],
  [
    'a private address for tokens',
    { config: { ...http, auth: { type: 'oauth2_client_credentials', token_url: 'https://10.0.0.1/t', client_id: 'a', secret: 's' } } },
    '/config/auth/token_url',
  ],
  ['python without isolation', { kind: 'code_exec', config: { language: 'python' } }, '/config/isolation'],
  ['a search without address', { kind: 'web_search', config: { provider: 'searxng' } }, '/config/base_url'],
  ['a search without key', { kind: 'web_search', config: { provider: 'brave' } }, '/config/secret'],
  [
    'a private address for searches',
    { kind: 'web_search', config: { provider: 'searxng', base_url: 'https://10.0.0.1/' } },
    '/config/base_url',
  ],
  ['an agent that does not exist', { kind: 'delegate', config: { agent: { slug: 'nobody' } } }, '/config/agent'],
  ['an agent without name', { kind: 'delegate', config: { agent: {} } }, '/config/agent'],
  ['a schedule every minute', { kind: 'schedule', config: { min_interval_s: 60 } }, '/config/min_interval_s'],
  ['a client-owned delegate', { kind: 'delegate', client_owned: true, config: {} }, '/client_owned'],
  ['a delegate that only reads', { kind: 'schedule', config: {}, effect: 'read' }, '/effect'],
  ['an unknown config field', { config: { ...http, surprise: 1 } }, '/config'],
  ['plain http', { config: { ...http, url: 'http://api.example.com/' } }, '/config/url'],
  ['a private address', { config: { ...http, url: 'https://10.0.0.1/' } }, '/config/url'],
  ['another port', { config: { ...http, url: 'https://api.example.com:8443/' } }, '/config/url'],
  ['a templated origin', { config: { ...http, url: 'https://{{ args.host }}/' } }, '/config/url'],
  ['a template that can not be read', { config: { ...http, headers: { 'x-a': '{% if %}' } } }, '/config/headers/x-a'],
  ['a pointer with a bare tilde', { config: { ...http, response: { pointer: '/a~b' } } }, '/config/response/pointer'],
  ['a space in the URL', { config: { ...http, url: 'https://api.example.com/a b/{{ args.id }}' } }, '/config/url'],
  ['a line break in the URL', { config: { ...http, url: 'https://api.example.com/a\nb' } }, '/config/url'],
  ['a header beyond Latin-1', { config: { ...http, headers: { 'x-a': 'snow ☃' } } }, '/config/headers/x-a'],
  ['a line break in a header', { config: { ...http, headers: { 'x-a': 'a\r\nx-b: c' } } }, '/config/headers/x-a'],
  ['a body on GET', { config: { method: 'GET', url: 'https://api.example.com/', body: { mode: 'json' } } }, '/config/body/mode'],
  ['a schema that is no schema', { input_schema: { type: 'object', properties: { a: { type: 'nonsense' } } } }, '/input_schema'],
  ['a schema that is no object', { input_schema: { type: 'string' } }, '/input_schema/type'],
  ['a slug with a dot', { slug: 'a.b' }, '/slug'],
  ['a long timeout', { timeout_s: 601 }, '/timeout_s'],
])('createTool refuses %s', async (_name, change, pointer) => {
  const { tokens } = await world.tenant();

  const refused = await world.call(tokens.admin, 'POST', '/tools', {
    body: { slug: 'thing', kind: 'http', description: 'x', config: http, ...change },
  });

  expect(refused.status).toBe(422);
  expect(refused.body.errors.some((error: { pointer: string }) => error.pointer.startsWith(pointer))).toBe(true);
});

test("the organization's allow-list opens an origin", async () => {
  const { tokens } = await world.tenant({ egressAllowlist: [{ host: 'intranet.test', port: 8080, allow_http: true }] });

  const made = await world.call(tokens.admin, 'POST', '/tools', {
    body: { slug: 'in', kind: 'http', description: 'x', config: { method: 'GET', url: 'http://intranet.test:8080/a' } },
  });

  expect(made.status).toBe(201);
});

test('listTools filters, and another tenant sees nothing', async () => {
  const [mine, other] = await Promise.all([world.tenant(), world.tenant()]);
  const create = (body: object) => world.call(mine.tokens.admin, 'POST', '/tools', { body: { description: 'x', ...body } });
  const writer = await create({ slug: 'writer', kind: 'http', config: http });
  await create({ slug: 'web', kind: 'web_fetch', description: '50% off' });
  const slugs = async (query: string, token = mine.tokens.viewer) =>
    (await world.call(token, 'GET', `/tools?${query}`)).body.items.map((tool: { slug: string }) => tool.slug);

  expect(await slugs('')).toEqual(['web', 'writer']);
  expect(await slugs('kind=http')).toEqual(['writer']);
  expect(await slugs('effect=read')).toEqual(['web']);
  expect(await slugs('critical=true')).toEqual([]);
  expect(await slugs('q=%25')).toEqual(['web']);
  expect(await slugs(`toolkit_id=${writer.body.id}`)).toEqual([]);
  expect(await slugs('', other.tokens.owner)).toEqual([]);
  expect((await world.call(other.tokens.owner, 'GET', `/tools/${writer.body.id}`)).status).toBe(404);
  expect(
    (await world.call(mine.tokens.member, 'POST', '/tools', { body: { slug: 'm', kind: 'web_fetch', description: 'x' } })).status,
  ).toBe(403);
});
