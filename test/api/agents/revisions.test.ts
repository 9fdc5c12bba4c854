import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const etagOf = async (token: string, agentId: string) => (await world.call(token, 'GET', `/agents/${agentId}`)).headers['etag'] ?? '';

test('a revision gets the next number, is stored whole and activates nothing', async () => {
  const { tokens, users } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);

  const made = await world.call(tokens.member, 'POST', `/agents/${agent.id}/revisions`, {
    body: { document: { instructions: 'Two' }, note: 'second' },
  });
  const read = await world.call(tokens.viewer, 'GET', made.headers['location'] ?? '');
  const listed = await world.call(tokens.viewer, 'GET', `/agents/${agent.id}/revisions`);

  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({
    agent_id: agent.id,
    number: 2,
    is_active: false,
    note: 'second',
    created_by: { kind: 'user', id: users.member.id },
  });
  expect(made.body.document).toMatchObject({
    model: null,
    fallback_models: [],
    tools: [],
    model_settings: { reasoning: 'provider-default', cache: 'auto' },
    limits: { max_tool_calls: 200 },
  });
  expect(made.body.document_hash).toMatch(/^[0-9a-f]{64}$/);
  expect(read.body).toEqual(made.body);
  expect(
    listed.body.items.map((item: { number: number; is_active: boolean; document?: unknown }) => [
      item.number,
      item.is_active,
      item.document,
    ]),
  ).toEqual([
    [2, false, undefined],
    [1, true, undefined],
  ]);
});

test('everything wrong with a revision is told in one answer, and nothing is stored', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const document = {
    model: 'nobody/knows',
    instructions: '{% if %}',
    tools: [{ slug: 'missing' }, {}],
    variables: [{ name: 'a' }, { name: 'a' }],
    model_settings: { provider_options: { surprise: 1 } },
  };

  const refused = await world.call(tokens.member, 'POST', `/agents/${agent.id}/revisions`, { body: { document } });
  const listed = await world.call(tokens.viewer, 'GET', `/agents/${agent.id}/revisions`);

  expect(refused.status).toBe(422);
  expect(refused.body.errors.map((error: { pointer: string; rule: string }) => `${error.pointer} ${error.rule}`).toSorted()).toEqual(
    expect.arrayContaining([
      '/document/instructions template',
      '/document/model reference',
      '/document/tools/0 reference',
      '/document/tools/1 required',
      '/document/variables/1/name uniqueItems',
    ]),
  );
  expect(refused.body.errors.find((error: { pointer: string }) => error.pointer === '/document/tools/0').params).toEqual({
    kind: 'tool',
    slug: 'missing',
  });
  expect(listed.body.items).toHaveLength(1);
});

test('bindings resolve to the nearest tool and keep id and slug', async () => {
  const { tokens, organizationAdmin } = await world.tenant();
  const wide = await world.call(organizationAdmin.token, 'POST', '/tools', {
    body: { slug: 'clock', kind: 'builtin', description: 'Time', config: { name: 'current_time' }, scope: 'organization' },
  });
  const near = await world.call(tokens.admin, 'POST', '/tools', {
    body: { slug: 'clock', kind: 'builtin', description: 'Time', config: { name: 'current_time' } },
  });
  const agent = await makeAgent(world, tokens.admin);
  const add = (tools: unknown) =>
    world.call(tokens.member, 'POST', `/agents/${agent.id}/revisions`, { body: { document: { model: 'builtin/extractive', tools } } });

  const bySlug = await add([{ slug: 'clock', timeout_s: 5 }]);
  const byScope = await add([{ slug: 'clock', scope: 'organization' }]);
  const twice = await add([{ slug: 'clock' }, { id: wide.body.id }]);
  const tooLong = await add([{ slug: 'clock', timeout_s: 600 }]);
  const preset = await add([{ slug: 'clock', preset: { nonsense: 1 } }]);

  expect(bySlug.body.document.tools).toEqual([
    {
      id: near.body.id,
      slug: 'clock',
      scope: 'workspace',
      approval: 'default',
      max_calls: null,
      timeout_s: 5,
      preset: {},
      description: null,
    },
  ]);
  expect(byScope.body.document.tools[0].id).toBe(wide.body.id);
  expect(twice).toMatchObject({ status: 422, body: { errors: [{ pointer: '/document/tools/1', rule: 'uniqueItems' }] } });
  expect(tooLong).toMatchObject({ status: 422, body: { errors: [{ pointer: '/document/tools/0/timeout_s', rule: 'maximum' }] } });
  expect(preset).toMatchObject({ status: 422, body: { errors: [{ pointer: '/document/tools/0/preset', rule: 'unknown_field' }] } });
});

test('a preset fits what the tool says of its arguments, and need not hold all that it demands', async () => {
  const { tokens } = await world.tenant();
  const input_schema = {
    type: 'object',
    properties: { city: { type: 'string' }, near: { type: 'object', properties: { km: { type: 'integer' } } } },
    required: ['city', 'near'],
  };
  const config = { method: 'GET', url: 'https://api.example.com/' };
  await world.call(tokens.admin, 'POST', '/tools', { body: { slug: 'places', kind: 'http', description: 'Places', config, input_schema } });
  const agent = await makeAgent(world, tokens.admin);
  const add = (preset: object) =>
    world.call(tokens.member, 'POST', `/agents/${agent.id}/revisions`, { body: { document: { tools: [{ slug: 'places', preset }] } } });

  const [fits, misfit] = [await add({ city: 'Rome' }), await add({ city: 7, near: { km: 'far' } })];

  expect(fits.status).toBe(201);
  expect(misfit.status).toBe(422);
  expect(misfit.body.errors.map((error: { pointer: string; rule: string }) => `${error.pointer} ${error.rule}`)).toEqual([
    '/document/tools/0/preset/city type',
    '/document/tools/0/preset/near/km type',
  ]);
});

test("activation demands the agent's current ETag; of two with one tag, one wins", async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const add = (text: string) =>
    world.call(tokens.member, 'POST', `/agents/${agent.id}/revisions`, { body: { document: { instructions: text } } });
  const [two, three] = [await add('two'), await add('three')];
  const etag = await etagOf(tokens.viewer, agent.id);
  const activate = (id: string, headers: Record<string, string>, token = tokens.admin) =>
    world.call(token, 'POST', `/agents/${agent.id}/revisions/${id}/activate`, { headers });

  const bare = await activate(two.body.id, {});
  const byMember = await activate(two.body.id, { 'if-match': etag }, tokens.member);
  const answers = await Promise.all([activate(two.body.id, { 'if-match': etag }), activate(three.body.id, { 'if-match': etag })]);

  expect(bare).toMatchObject({ status: 428, body: { code: 'precondition_required' } });
  expect(byMember.status).toBe(403);
  expect(answers.map((answer) => answer.status).toSorted()).toEqual([200, 412]);
  const won = answers.find((answer) => answer.status === 200);
  expect(won?.body.active_revision.id).toBe(won?.body.active_revision_id);
  expect(won?.headers['etag']).toBe(await etagOf(tokens.viewer, agent.id));
});

test('a revision whose tool is inactive can be stored but not activated', async () => {
  const { tokens } = await world.tenant();
  await world.call(tokens.admin, 'POST', '/tools', {
    body: { slug: 'off', kind: 'builtin', description: 'Off', config: { name: 'current_time' }, is_active: false },
  });
  const agent = await makeAgent(world, tokens.admin);
  const made = await world.call(tokens.member, 'POST', `/agents/${agent.id}/revisions`, {
    body: { document: { tools: [{ slug: 'off' }] } },
  });

  const refused = await world.call(tokens.admin, 'POST', `/agents/${agent.id}/revisions/${made.body.id}/activate`, {
    headers: { 'if-match': '*' },
  });

  expect(made.status).toBe(201);
  expect(refused).toMatchObject({
    status: 409,
    body: {
      code: 'state_conflict',
      context: { reason: 'revision_not_activatable', problems: [{ stage: 'activate', pointer: '/tools/0', rule: 'inactive' }] },
    },
  });
});

test("a stale base is 409 and another agent's revision is 404", async () => {
  const { tokens } = await world.tenant();
  const [agent, other] = [await makeAgent(world, tokens.admin), await makeAgent(world, tokens.admin)];
  const base = agent.active_revision_id;
  const add = () => world.call(tokens.member, 'POST', `/agents/${agent.id}/revisions`, { body: { document: {}, base_revision_id: base } });

  const [first, second] = [await add(), await add()];
  const crossed = await world.call(tokens.viewer, 'GET', `/agents/${other.id}/revisions/${base}`);

  expect(first.status).toBe(201);
  expect(second).toMatchObject({ status: 409, body: { context: { reason: 'revision_base_stale' } } });
  expect(crossed.status).toBe(404);
});
