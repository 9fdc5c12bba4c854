import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { TestTenant } from '../../support/tenant.ts';
import { manualTool, toolkitMaker } from '../tools/toolkit-world.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;
const seen: string[] = [];

beforeAll(async () => {
  world = await openWorld({
    onQuery: (sql) => seen.push(sql),
    env: { LONGHAUL_MODEL_BASE_URL: 'http://127.0.0.1:9/v1', LONGHAUL_MODEL_API_KEY: 'k', LONGHAUL_MODEL: 'scripted' },
  });
});

afterAll(() => world.close());

const isFrame = (sql: string) => /^(begin|commit|rollback|set |select set_config)/i.test(sql);

async function statementsOf(work: () => Promise<{ status: number; body: unknown }>) {
  seen.length = 0;
  const { status, body } = await work();
  return { status, body, statements: seen.filter((sql) => !isFrame(sql)) };
}

/** What every reference of `wholeRevision` means, under the same names in each tenant. */
async function furnish(tenant: TestTenant, count = 1): Promise<{ toolkitRevisionId: string; helperRevisionId: string }> {
  const { tokens } = tenant;
  const kit = toolkitMaker(world, tenant);
  const toolkit = await kit.toolkit();
  const revision = await kit.revision(toolkit.id, [manualTool('find')]);
  await kit.activate(toolkit.id, revision.id);
  for (let at = 0; at < count; at += 1) {
    await world.call(tokens.admin, 'POST', '/tools', { body: { slug: `web-${at}`, kind: 'web_fetch', description: 'Reads a page' } });
    await world.call(tokens.admin, 'POST', '/skills', { body: { slug: `tone-${at}`, description: 'Tone', instructions: 'Be kind.' } });
  }
  const helper = await makeAgent(world, tokens.admin, { slug: 'helper' });
  await world.call(tokens.admin, 'POST', `/agents/${helper.id}/personas`, { body: { slug: 'short', name: 'Short' } });
  return { toolkitRevisionId: revision.id, helperRevisionId: helper.active_revision_id };
}

/** A document in which no field has its default. */
const wholeRevision = (pins: { toolkitRevisionId: string; helperRevisionId: string }) => ({
  model: 'scripted',
  fallback_models: ['scripted'],
  instructions: 'Answer about {{ vars.product }}, é.',
  variables: [{ name: 'product', required: true, default: 'Longhaul', description: 'What it is about' }],
  model_settings: { temperature: 0.5, top_p: 0.9, max_output_tokens: 500, stop: ['END'], seed: 7, cache: 'off' },
  response_format: { type: 'json', name: 'answer', schema: { type: 'object', properties: { text: { type: 'string' } } }, strict: true },
  tools: [
    { slug: 'web-0', approval: 'first', max_calls: 3, timeout_s: 5, preset: { url: 'https://example.com' }, description: 'Reads ours' },
  ],
  toolkits: [{ slug: 'kit', revision: pins.toolkitRevisionId, include: ['find'], exclude: ['lose'], approval: 'always' }],
  skills: [{ slug: 'tone-0', version: 1, mode: 'always' }],
  sub_agents: [
    {
      slug: 'helper',
      revision: pins.helperRevisionId,
      persona_slug: 'short',
      description: 'Asks',
      history: 'summary',
      max_calls: 2,
      max_cost: '1.50',
    },
  ],
  approvals: { read: 'ask', write: 'ask', approver_floor: 'admin' },
  context: { max_input_tokens: 9_000, keep_last_turns: 3, on_overflow: 'fail' },
  limits: { max_steps: 5, max_duration_s: 60, max_output_tokens: 400, max_tool_calls: 9 },
  input_schema: { type: 'object', properties: { city: { type: 'string' } } },
  metadata: { owner: 'team', nested: { deep: [1, null, true] } },
});

const wholePersona = {
  slug: 'formal',
  name: 'Formal',
  description: 'For letters',
  greeting: 'Good day',
  locale: 'de-DE',
  instructions: 'Be formal, {{ vars.product }}.',
  instructions_mode: 'prepend',
  model: 'scripted',
  model_settings: { temperature: 0, stop: ['X'] },
  tools_allow: ['web-0'],
  avatar_preset: null,
  image_url: 'https://images.example.com/a.png',
  attributes: { mood: 'grave' },
  is_default: true,
  is_active: false,
};

/** An agent with everything set, in a tenant of its own. */
async function wholeAgent() {
  const tenant = await world.tenant();
  const pins = await furnish(tenant);
  const made = await world.call(tenant.tokens.member, 'POST', '/agents', {
    body: {
      slug: 'whole',
      name: 'Whole',
      description: 'All of it',
      image_url: 'https://images.example.com/b.png',
      is_active: false,
      attributes: { team: 'support' },
      revision: wholeRevision(pins),
    },
  });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  const persona = await world.call(tenant.tokens.member, 'POST', `/agents/${made.body.id}/personas`, { body: wholePersona });
  if (persona.status !== 201) throw new Error(JSON.stringify(persona.body));
  return { tenant, pins, agent: made.body };
}

test('every field survives export and import elsewhere; a second export is equal and holds no id', async () => {
  const { tenant, pins, agent } = await wholeAgent();
  const there = await world.tenant();
  await furnish(there);

  const exported = await world.call(tenant.tokens.member, 'GET', `/agents/${agent.id}/export`);
  const imported = await world.call(there.tokens.member, 'POST', '/agents/import', { body: exported.body });
  const again = await world.call(there.tokens.member, 'GET', `/agents/${imported.body.id}/export`);

  const whole = wholeRevision(pins);
  expect(exported.body).toMatchObject({
    slug: 'whole',
    description: 'All of it',
    is_active: false,
    attributes: { team: 'support' },
    revision: {
      ...whole,
      toolkits: [{ ...whole.toolkits[0], revision: 'active' }],
      sub_agents: [{ ...whole.sub_agents[0], revision: 'active' }],
    },
    personas: [wholePersona],
  });
  expect(JSON.stringify(exported.body)).not.toMatch(/"[a-z_]*id":|[0-9a-f]{8}-[0-9a-f]{4}-/);
  expect(imported).toMatchObject({ status: 201, body: { active_revision_id: null, revision_count: 1 } });
  expect(again.body).toEqual(exported.body);
});

test('a clone keeps what is pinned', async () => {
  const { tenant, agent } = await wholeAgent();
  const { tokens } = tenant;

  const clone = await world.call(tokens.member, 'POST', `/agents/${agent.id}/clone`, { body: { slug: 'copy' } });
  const [original, copied] = await Promise.all(
    [agent.id, clone.body.id].map(async (id) => {
      const { body } = await world.call(tokens.viewer, 'GET', `/agents/${id}/revisions`);
      return (await world.call(tokens.viewer, 'GET', `/agents/${id}/revisions/${body.items[0].id}`)).body;
    }),
  );

  expect(clone.status).toBe(201);
  expect(copied.document).toEqual(original.document);
  expect(copied.document_hash).toBe(original.document_hash);
});

test('reads of an agent take at most 3 statements with authentication', async () => {
  const { tenant, agent } = await wholeAgent();
  const { body } = await world.call(tenant.tokens.viewer, 'GET', `/agents/${agent.id}/revisions`);
  const paths = ['personas', 'available-sub-agents', 'export', `export?revision_id=${body.items[0].id}`];

  for (const path of paths) {
    const { status, statements } = await statementsOf(() => world.call(tenant.tokens.member, 'GET', `/agents/${agent.id}/${path}`));
    expect({ path, status }).toEqual({ path, status: 200 });
    expect({ path, isWithin: statements.length <= 3, statements }).toMatchObject({ path, isWithin: true });
  }
});

test('an import takes at most 12 statements, however many references, personas and pictures', async () => {
  const tenant = await world.tenant();
  await furnish(tenant, 20);
  const slugs = (name: string) => Array.from({ length: 20 }, (_, at) => ({ slug: `${name}-${at}` }));
  const body = {
    slug: 'many',
    name: 'Many',
    image_url: 'https://images.example.com/b.png',
    revision: {
      model: 'scripted',
      tools: slugs('web'),
      skills: slugs('tone'),
      toolkits: [{ slug: 'kit' }],
      sub_agents: [{ slug: 'helper' }],
    },
    personas: Array.from({ length: 50 }, (_, at) => ({ slug: `p-${at}`, name: 'P', image_url: `https://images.example.com/${at}.png` })),
  };

  const { status, statements } = await statementsOf(() => world.call(tenant.tokens.member, 'POST', '/agents/import', { body }));

  expect(status).toBe(201);
  expect({ isWithin: statements.length <= 12, statements }).toMatchObject({ isWithin: true });
});

test('what can not be stored at all is told before the slug that is taken', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);

  const refused = await world.call(tokens.member, 'POST', '/agents/import', {
    body: { slug: agent.slug, name: 'X', revision: { tools: [{ slug: 'none' }] } },
  });

  expect(refused.status).toBe(422);
});

test('an operator who clones an agent of an organization does not publish it to all', async () => {
  const { tokens, organizationOwner, organizationId } = await world.tenant();
  const agent = await makeAgent(world, organizationOwner.token, { scope: 'organization' });
  const clone = (token: string, slug: string, headers = {}) =>
    world.call(token, 'POST', `/agents/${agent.id}/clone`, { body: { slug }, headers });

  const unnamed = await clone(tokens.operator, 'copy');
  const named = await clone(tokens.operator, 'copy', { 'x-view-organization': organizationId });
  const byMember = await clone(tokens.member, 'mine');

  expect(unnamed.status).toBe(422);
  expect([named.status, named.body.scope]).toEqual([201, 'organization']);
  expect([byMember.status, byMember.body.scope]).toEqual([201, 'workspace']);
});

test('an agent has at most 50 personas, so that what is exported can be imported', async () => {
  const [here, there] = [await world.tenant(), await world.tenant()];
  const personas = Array.from({ length: 50 }, (_, at) => ({ slug: `p-${at}`, name: 'P' }));
  const { body: agent } = await world.call(here.tokens.member, 'POST', '/agents/import', {
    body: { slug: 'many', name: 'Many', personas },
  });

  const more = await world.call(here.tokens.member, 'POST', `/agents/${agent.id}/personas`, { body: { slug: 'more', name: 'More' } });
  const exported = await world.call(here.tokens.member, 'GET', `/agents/${agent.id}/export`);
  const imported = await world.call(there.tokens.member, 'POST', '/agents/import', { body: exported.body });
  const cloned = await world.call(here.tokens.member, 'POST', `/agents/${agent.id}/clone`, { body: { slug: 'copy' } });

  expect(more).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'limit_reached' } } });
  expect([exported.body.personas.length, imported.status, cloned.status]).toEqual([50, 201, 201]);
});

test('every picture that is refused is told where it stands', async () => {
  const { tokens } = await world.tenant();
  const persona = (slug: string, url: string) => ({ slug, name: 'P', image_url: url });

  const refused = await world.call(tokens.member, 'POST', '/agents/import', {
    body: {
      slug: 'x',
      name: 'X',
      image_url: 'https://127.0.0.1/a.png',
      personas: [persona('a', 'https://images.example.com/a.png'), persona('b', 'https://10.0.0.1/b.png')],
    },
  });

  expect(refused.body.errors.map(({ pointer, rule }: { pointer: string; rule: string }) => [pointer, rule])).toEqual([
    ['/image_url', 'egress'],
    ['/personas/1/image_url', 'egress'],
  ]);
});

test('two imports of one slug at once: one is stored, the other is told', async () => {
  const { tokens } = await world.tenant();
  const body = { slug: 'twin', name: 'Twin', revision: { instructions: 'Hi' }, personas: [{ slug: 'p', name: 'P' }] };

  const made = await Promise.all(Array.from({ length: 4 }, () => world.call(tokens.member, 'POST', '/agents/import', { body })));

  expect(made.map(({ status }) => status).toSorted((left, right) => left - right)).toEqual([201, 409, 409, 409]);
  expect(made.find(({ status }) => status === 409)?.body.code).toBe('already_exists');
  expect((await world.call(tokens.viewer, 'GET', '/agents')).body.items).toHaveLength(1);
});

test('an import under a key is repeated word for word, and once', async () => {
  const { tokens } = await world.tenant();
  const body = { slug: 'once', name: 'Once', personas: [{ slug: 'p', name: 'P' }] };
  const headers = { 'idempotency-key': crypto.randomUUID() };

  const first = await world.call(tokens.member, 'POST', '/agents/import', { body, headers });
  const second = await world.call(tokens.member, 'POST', '/agents/import', { body, headers });
  const other = await world.call(tokens.member, 'POST', '/agents/import', { body: { ...body, name: 'Other' }, headers });

  expect([first.status, second.body, second.headers['idempotency-replayed']]).toEqual([201, first.body, 'true']);
  expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_key_mismatch' } });
});
