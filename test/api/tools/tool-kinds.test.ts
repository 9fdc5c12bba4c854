import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const create = (token: string, body: object) => world.call(token, 'POST', '/tools', { body: { description: 'x', ...body } });

test('each kind has its own config with defaults, input schema and effect', async () => {
  const { tokens } = await world.tenant();

  const code = await create(tokens.admin, { slug: 'code', kind: 'code_exec', config: { language: 'javascript' } });
  const search = await create(tokens.admin, {
    slug: 'search',
    kind: 'web_search',
    config: { provider: 'http_json', base_url: 'https://search.example.com/api', secret: 'search_key', mapping: { results: '/hits' } },
  });
  const schedule = await create(tokens.admin, { slug: 'later', kind: 'schedule' });

  expect(code.body).toMatchObject({
    effect: 'read',
    config: { language: 'javascript', isolation: 'default', memory_mb: 64, cpu_ms: 5_000, source: null },
    input_schema: { required: ['code'] },
  });
  expect(search.body).toMatchObject({
    effect: 'read',
    secrets_required: ['search_key'],
    config: { max_results: 8, freshness: null, mapping: { query: 'q', results: '/hits', title: '/title', key_header: 'authorization' } },
    input_schema: { required: ['query'] },
  });
  expect(schedule.body).toMatchObject({
    effect: 'write',
    config: { agent: 'self', allow: ['once', 'recurring'], min_interval_s: 3_600, max_active: 10, horizon_days: 90 },
  });
});

test('a fixed program has a schema of the author, the free one has none', async () => {
  const { tokens } = await world.tenant();
  const input_schema = { type: 'object', properties: { n: { type: 'integer' } } };

  const fixed = await create(tokens.admin, {
    slug: 'a',
    kind: 'code_exec',
    input_schema,
    config: { language: 'javascript', source: 'input.n' },
  });
  const free = await create(tokens.admin, { slug: 'b', kind: 'code_exec', input_schema, config: { language: 'javascript' } });

  expect(fixed).toMatchObject({ status: 201, body: { input_schema } });
  expect(free).toMatchObject({ status: 422, body: { errors: [{ pointer: '/input_schema' }] } });
});

test('a delegate is stored with id, slug and scope of its agent, and every reference that fails is told at once', async () => {
  const [mine, other] = await Promise.all([world.tenant(), world.tenant()]);
  const agent = await makeAgent(world, mine.tokens.admin);
  const foreign = await makeAgent(world, other.tokens.admin);

  const made = await create(mine.tokens.admin, { slug: 'ask', kind: 'delegate', config: { agent: { slug: agent.slug } } });
  const lost = await create(mine.tokens.admin, {
    slug: 'lost',
    kind: 'delegate',
    config: { agent: { id: agent.id }, revision: foreign.active_revision_id, persona_slug: 'nobody' },
  });
  const stolen = await create(mine.tokens.admin, { slug: 'stolen', kind: 'delegate', config: { agent: { id: foreign.id } } });

  expect(made.body).toMatchObject({
    effect: 'write',
    timeout_s: 3_600,
    config: { agent: { id: agent.id, slug: agent.slug, scope: 'workspace' }, revision: 'active', history: 'none', output: 'text' },
  });
  expect(lost.body.errors.map(({ pointer, rule }: { pointer: string; rule: string }) => [pointer, rule])).toEqual([
    ['/config/persona_slug', 'reference'],
    ['/config/revision', 'reference'],
  ]);
  expect(stolen.body.errors).toMatchObject([{ pointer: '/config/agent', rule: 'reference' }]);
});

test('a client-owned tool needs no config and may take a day', async () => {
  const { tokens } = await world.tenant();

  const made = await create(tokens.admin, {
    slug: 'ui',
    kind: 'http',
    client_owned: true,
    timeout_s: 86_400,
    input_schema: { type: 'object', properties: { color: { type: 'string' } } },
  });
  const unset = await create(tokens.admin, { slug: 'ui2', kind: 'code_exec', client_owned: true });
  const executed = await create(tokens.admin, { slug: 'ui3', kind: 'http' });

  expect(made.body).toMatchObject({ client_owned: true, config: {}, timeout_s: 86_400, effect: 'write' });
  expect(unset.body).toMatchObject({ config: {}, timeout_s: 3_600, effect: 'read' });
  expect(executed).toMatchObject({ status: 422, body: { errors: [{ pointer: '/config' }] } });
});

test('the names of secrets in a config join those that the tool requires', async () => {
  const { tokens } = await world.tenant();
  const auth = { type: 'bearer', secret: 'orders_key' };

  const made = await create(tokens.admin, {
    slug: 'orders',
    kind: 'http',
    secrets_required: ['other'],
    config: { method: 'GET', url: 'https://api.example.com/', auth },
  });
  const changed = await world.call(tokens.admin, 'PATCH', `/tools/${made.body.id}`, {
    body: { config: { method: 'GET', url: 'https://api.example.com/' } },
  });

  expect(made.body).toMatchObject({ secrets_required: ['other', 'orders_key'], config: { auth } });
  expect(changed.body).toMatchObject({ secrets_required: ['other'], config: { auth: { type: 'none' } } });
});
