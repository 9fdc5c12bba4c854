import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const personasOf = (agent: { id: string }) => `/agents/${agent.id}/personas`;

test('a persona is stored whole with its defaults, listed, and found under its agent only', async () => {
  const { tokens } = await world.tenant();
  const [agent, other] = [await makeAgent(world, tokens.admin), await makeAgent(world, tokens.admin)];

  const made = await world.call(tokens.member, 'POST', personasOf(agent), { body: { slug: 'formal', name: 'Formal', locale: 'de-DE' } });
  const listed = await world.call(tokens.viewer, 'GET', personasOf(agent));
  const foreign = await world.call(tokens.member, 'PATCH', `${personasOf(other)}/${made.body.id}`, { body: { name: 'x' } });

  expect(made).toMatchObject({
    status: 201,
    body: {
      agent_id: agent.id,
      slug: 'formal',
      locale: 'de-DE',
      instructions: '',
      instructions_mode: 'append',
      tools_allow: null,
      knowledge: [],
      is_default: false,
      is_active: true,
      version: 1,
      etag: '"1"',
    },
  });
  expect(listed.body.items).toEqual([made.body]);
  expect((await world.call(tokens.viewer, 'GET', personasOf(other))).body.items).toEqual([]);
  expect(foreign.status).toBe(404);
});

test('a new default takes the place of the old one', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);

  const first = await world.call(tokens.member, 'POST', personasOf(agent), { body: { slug: 'a', name: 'A', is_default: true } });
  const second = await world.call(tokens.member, 'POST', personasOf(agent), { body: { slug: 'b', name: 'B', is_default: true } });
  const back = await world.call(tokens.member, 'PATCH', `${personasOf(agent)}/${first.body.id}`, { body: { is_default: true } });
  const listed = await world.call(tokens.viewer, 'GET', personasOf(agent));

  expect([first.status, second.status, back.status]).toEqual([201, 201, 200]);
  expect(listed.body.items.map((item: { slug: string; is_default: boolean }) => [item.slug, item.is_default])).toEqual([
    ['b', false],
    ['a', true],
  ]);
  expect(back.body.version).toBe(1);
});

test('a change of what a persona says is a new version; null clears; the etag of its view guards it', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const made = await world.call(tokens.member, 'POST', personasOf(agent), { body: { slug: 'a', name: 'A', greeting: 'Hello' } });
  const path = `${personasOf(agent)}/${made.body.id}`;

  const changed = await world.call(tokens.member, 'PATCH', path, { body: { greeting: null }, headers: { 'if-match': made.body.etag } });
  const stale = await world.call(tokens.member, 'PATCH', path, { body: { name: 'B' }, headers: { 'if-match': made.body.etag } });
  const same = await world.call(tokens.member, 'PATCH', path, { body: {} });

  expect(changed.body).toMatchObject({ greeting: null, name: 'A', version: 2 });
  expect(changed.headers['etag']).toBe(changed.body.etag);
  expect(stale).toMatchObject({ status: 412, body: { context: { etag: changed.body.etag } } });
  expect(same.body).toEqual({ ...changed.body, updated_at: same.body.updated_at });
});

test('what a persona can not be is told, all in one answer', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  await world.call(tokens.member, 'POST', personasOf(agent), { body: { slug: 'taken', name: 'T' } });

  const refused = await world.call(tokens.member, 'POST', personasOf(agent), {
    body: {
      slug: 'x',
      name: 'X',
      model: 'nobody/knows',
      instructions: '{% if %}',
      locale: 'not a locale',
      knowledge: [{ slug: 'missing' }],
    },
  });
  const clash = await world.call(tokens.member, 'POST', personasOf(agent), { body: { slug: 'taken', name: 'T' } });

  expect(refused.status).toBe(422);
  expect(refused.body.errors.map((error: { pointer: string; rule: string }) => `${error.pointer} ${error.rule}`)).toEqual([
    '/instructions template',
    '/knowledge/0 reference',
    '/locale format',
    '/model reference',
  ]);
  expect(clash).toMatchObject({ status: 409, body: { code: 'already_exists' } });
});

test('options that the provider of a persona’s model does not take, or too many of them, are refused', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const personaWith = (more: object) => world.call(tokens.member, 'POST', personasOf(agent), { body: { slug: 'x', name: 'X', ...more } });

  const unknown = await personaWith({ model: 'builtin/extractive', model_settings: { provider_options: { store: true } } });
  const large = await personaWith({ model_settings: { provider_options: { text: 'x'.repeat(5_000) } } });

  const pointer = '/model_settings/provider_options';
  expect(unknown.body.errors).toMatchObject([{ pointer, rule: 'unknown_field', params: { field: 'store' } }]);
  expect(large.body.errors).toMatchObject([{ pointer, rule: 'maxLength' }]);
});

test('a deleted persona is gone, and its slug is free', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const made = await world.call(tokens.member, 'POST', personasOf(agent), { body: { slug: 'a', name: 'A', is_default: true } });
  const path = `${personasOf(agent)}/${made.body.id}`;

  expect((await world.call(tokens.member, 'DELETE', path)).status).toBe(403);
  expect((await world.call(tokens.admin, 'DELETE', path)).status).toBe(204);

  expect((await world.call(tokens.admin, 'DELETE', path)).status).toBe(404);
  expect((await world.call(tokens.viewer, 'GET', personasOf(agent))).body.items).toEqual([]);
  expect((await world.call(tokens.member, 'POST', personasOf(agent), { body: { slug: 'a', name: 'A', is_default: true } })).status).toBe(
    201,
  );
});

test('ten writers at once leave one default', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);

  const made = await Promise.all(
    Array.from({ length: 10 }, (_, at) =>
      world.call(tokens.member, 'POST', personasOf(agent), { body: { slug: `p${at}`, name: 'P', is_default: true } }),
    ),
  );
  const listed = await world.call(tokens.viewer, 'GET', personasOf(agent));

  expect(made.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 201));
  expect(listed.body.items.filter((item: { is_default: boolean }) => item.is_default)).toHaveLength(1);
});
