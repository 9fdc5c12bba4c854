import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const makeTool = (token: string, slug: string) =>
  world.call(token, 'POST', '/tools', { body: { slug, kind: 'web_fetch', description: 'Reads a page' } });

test('exported, imported elsewhere and exported again: equal', async () => {
  const [here, there] = [await world.tenant(), await world.tenant()];
  for (const { tokens } of [here, there]) await makeTool(tokens.admin, 'web');
  const agent = await makeAgent(world, here.tokens.admin, {
    attributes: { team: 'support' },
    revision: { instructions: 'Answer {{ vars.product }}.', variables: [{ name: 'product' }], tools: [{ slug: 'web', max_calls: 3 }] },
  });
  await world.call(here.tokens.member, 'POST', `/agents/${agent.id}/personas`, {
    body: { slug: 'formal', name: 'Formal', instructions: 'Be formal.', is_default: true, tools_allow: ['web'] },
  });

  const exported = await world.call(here.tokens.member, 'GET', `/agents/${agent.id}/export`);
  const imported = await world.call(there.tokens.member, 'POST', '/agents/import', { body: exported.body });
  const again = await world.call(there.tokens.member, 'GET', `/agents/${imported.body.id}/export`);

  expect(exported.status).toBe(200);
  expect(JSON.stringify(exported.body)).not.toContain(here.organizationId);
  expect(exported.body.revision.tools).toEqual([expect.objectContaining({ slug: 'web', scope: 'workspace', max_calls: 3 })]);
  expect(imported).toMatchObject({ status: 201, body: { active_revision_id: null, revision_count: 1 } });
  expect(again.body).toEqual(exported.body);
});

test('references that do not resolve are told one by one, and nothing is stored', async () => {
  const { tokens } = await world.tenant();
  const body = {
    slug: 'importing',
    name: 'Importing',
    revision: {
      tools: [{ slug: 'no-tool' }],
      toolkits: [{ slug: 'no-kit' }],
      skills: [{ slug: 'no-skill' }],
      sub_agents: [{ slug: 'no-agent' }],
    },
    personas: [{ slug: 'p', name: 'P', knowledge: [{ slug: 'no-base' }] }],
  };

  const refused = await world.call(tokens.member, 'POST', '/agents/import', { body });
  const listed = await world.call(tokens.viewer, 'GET', '/agents');

  expect(refused.status).toBe(422);
  expect(
    refused.body.errors.map((error: { pointer: string; rule: string; params: object }) => [error.pointer, error.rule, error.params]),
  ).toEqual([
    ['/personas/0/knowledge/0', 'reference', { kind: 'knowledge', slug: 'no-base' }],
    ['/revision/skills/0', 'reference', { kind: 'skill', slug: 'no-skill' }],
    ['/revision/sub_agents/0', 'reference', { kind: 'sub_agent', slug: 'no-agent' }],
    ['/revision/toolkits/0', 'reference', { kind: 'toolkit', slug: 'no-kit' }],
    ['/revision/tools/0', 'reference', { kind: 'tool', slug: 'no-tool' }],
  ]);
  expect(listed.body.items).toEqual([]);
});

test('a slug that is taken, a newer form, two personas of one slug and two defaults are refused', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const send = (body: object) => world.call(tokens.member, 'POST', '/agents/import', { body: { slug: 'new', name: 'New', ...body } });
  const persona = { slug: 'p', name: 'P' };

  expect(await send({ slug: agent.slug })).toMatchObject({ status: 409, body: { code: 'already_exists' } });
  expect((await send({ schema_version: 2 })).status).toBe(422);
  expect((await send({ kind: 'skill' })).status).toBe(422);
  expect((await send({ personas: [persona, persona] })).body.errors[0]).toMatchObject({ pointer: '/personas/1/slug' });
  const defaults = ['a', 'b'].map((slug) => ({ ...persona, slug, is_default: true }));
  expect((await send({ personas: defaults })).body.errors[0]).toMatchObject({ pointer: '/personas/1/is_default' });
  expect((await world.call(tokens.viewer, 'GET', '/agents')).body.items).toHaveLength(1);
});

test('a clone copies the active revision and the personas, and runs nothing', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  await world.call(tokens.member, 'POST', `/agents/${agent.id}/revisions`, { body: { document: { instructions: 'Newest' } } });
  await world.call(tokens.member, 'POST', `/agents/${agent.id}/personas`, { body: { slug: 'p', name: 'P' } });

  const clone = await world.call(tokens.member, 'POST', `/agents/${agent.id}/clone`, { body: { slug: 'copy' } });
  const bare = await world.call(tokens.member, 'POST', `/agents/${agent.id}/clone`, {
    body: { slug: 'bare', name: 'Bare', include_personas: false },
  });
  const revisions = await world.call(tokens.viewer, 'GET', `/agents/${clone.body.id}/revisions`);
  const document = await world.call(tokens.viewer, 'GET', `/agents/${clone.body.id}/revisions/${revisions.body.items[0].id}`);
  const personas = await world.call(tokens.viewer, 'GET', `/agents/${clone.body.id}/personas`);

  expect(clone).toMatchObject({ status: 201, body: { slug: 'copy', name: agent.name, scope: agent.scope, active_revision_id: null } });
  expect(document.body.document.instructions).toBe('Answer.');
  expect(personas.body.items).toHaveLength(1);
  expect((await world.call(tokens.viewer, 'GET', `/agents/${bare.body.id}/personas`)).body.items).toEqual([]);
  expect(bare.body.name).toBe('Bare');
});

test('a revision of another agent can neither be exported nor cloned', async () => {
  const { tokens } = await world.tenant();
  const [agent, other] = [await makeAgent(world, tokens.admin), await makeAgent(world, tokens.admin)];

  const exported = await world.call(tokens.member, 'GET', `/agents/${agent.id}/export?revision_id=${other.active_revision_id}`);
  const cloned = await world.call(tokens.member, 'POST', `/agents/${agent.id}/clone`, {
    body: { slug: 'x', revision_id: other.active_revision_id },
  });

  expect(exported.status).toBe(404);
  expect(cloned.body.errors).toEqual([expect.objectContaining({ pointer: '/revision_id', rule: 'reference' })]);
});
