import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const made = async (token: string, path: string, body: unknown) => {
  const answer = await world.call(token, 'POST', path, { body });
  if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
};
const httpTool = (slug: string, more: object = {}) => ({
  slug,
  kind: 'http',
  description: `Calls ${slug}.`,
  input_schema: { type: 'object', properties: { city: { type: 'string' }, unit: { type: 'string' } }, required: ['city', 'unit'] },
  config: { method: 'GET', url: 'https://weather.example.com/{{ args.city }}' },
  ...more,
});
/** A skill whose current version is promoted. */
const promotedSkill = async (token: string, slug: string, instructions: string) => {
  const skill = await made(token, '/skills', { slug, description: `About ${slug}.`, instructions });
  for (const to of ['reviewed', 'promoted']) {
    const curated = await world.call(token, 'POST', `/skills/${skill.id}/curate`, { body: { to, version: skill.version } });
    if (curated.status !== 200) throw new Error(`curate: ${curated.status} ${JSON.stringify(curated.body)}`);
  }
  return skill;
};
const effectiveOf = (token: string, agent: { id: string }, query = '') => world.call(token, 'GET', `/agents/${agent.id}/effective${query}`);
const named = (list: { name: string }[], name: string) => list.find((tool) => tool.name === name) as any; // oxlint-disable-line typescript/no-explicit-any

test('every layer shows: model, prompt with skills, tools with approval and preset, limits, what is left out', async () => {
  const { tokens } = await world.tenant();
  await made(tokens.admin, '/tools', httpTool('weather', { secrets_required: ['weather_key'] }));
  await made(tokens.admin, '/tools', httpTool('wipe', { critical: true, effect: 'write' }));
  await made(tokens.admin, '/tools', httpTool('store', { effect: 'write' }));
  await promotedSkill(tokens.admin, 'tone', 'Be polite.');
  await promotedSkill(tokens.admin, 'maps', 'Long text about maps.');
  const agent = await makeAgent(world, tokens.admin, {
    revision: {
      model: 'builtin/extractive',
      instructions: 'Help with {{ vars.topic }}.',
      variables: [{ name: 'topic', default: 'weather' }],
      tools: [{ slug: 'weather', preset: { unit: 'C' }, timeout_s: 5 }, { slug: 'wipe' }, { slug: 'store' }],
      skills: [{ slug: 'tone', mode: 'always' }, { slug: 'maps' }],
      approvals: { write: 'ask', approver_floor: 'admin' },
      limits: { max_steps: 7 },
    },
  });

  const { status, body } = await effectiveOf(tokens.member, agent);

  expect(status).toBe(200);
  expect(body).toMatchObject({ agent_id: agent.id, revision_id: agent.active_revision_id, persona_slug: null, limits: { max_steps: 7 } });
  expect(body.model).toMatchObject({ id: 'builtin/extractive', provider: 'builtin', capabilities: { tools: true } });
  expect(body.instructions).toBe(
    'Help with weather.\n\n<skill name="tone">\nBe polite.\n</skill>\n\nSkills that you can load with skill_load when they fit the task:\n- maps: About maps.',
  );
  expect(body.tools.map((tool: { name: string }) => tool.name)).toEqual(['weather', 'wipe', 'store', 'skill_load']);
  expect(named(body.tools, 'weather')).toMatchObject({
    input_schema: { properties: { city: { type: 'string' } }, required: ['city'] },
    approval: { required: false, reason: null },
    timeout_s: 5,
    secrets_missing: ['weather_key'],
  });
  expect(named(body.tools, 'wipe').approval).toEqual({ required: true, reason: 'critical', floor: 'admin' });
  expect(named(body.tools, 'store').approval).toEqual({ required: true, reason: 'effect', floor: 'admin' });
  expect(body.skills.map((skill: { slug: string; mode: string; version: number }) => [skill.slug, skill.mode, skill.version])).toEqual([
    ['tone', 'always', 1],
    ['maps', 'on_demand', 1],
  ]);
  expect(
    body.warnings.map((warning: { rule: string; params: { slug: string } }) => `${warning.rule} ${warning.params.slug}`).toSorted(),
  ).toEqual(['secret_missing weather']);
});

test('a persona colours the prompt and narrows the tools; the default one is worn unless another is named', async () => {
  const { tokens } = await world.tenant();
  for (const slug of ['one', 'two']) await made(tokens.admin, '/tools', httpTool(slug));
  const agent = await makeAgent(world, tokens.admin, {
    revision: {
      model: 'builtin/extractive',
      instructions: 'Base.',
      model_settings: { temperature: 1, seed: 3 },
      tools: [{ slug: 'one' }, { slug: 'two' }],
    },
  });
  const persona = (slug: string, more: object) => made(tokens.admin, `/agents/${agent.id}/personas`, { slug, name: slug, ...more });
  await persona('formal', { instructions: 'Formal {{ persona.name }}.', is_default: true, tools_allow: ['two', 'three'] });
  await persona('first', { instructions: 'First.', instructions_mode: 'prepend', model_settings: { temperature: 0 } });
  await persona('alone', { instructions: 'Alone.', instructions_mode: 'replace', tools_allow: [] });

  const [worn, first, alone] = await Promise.all(
    ['', '?persona_slug=first', '?persona_slug=alone'].map(async (query) => (await effectiveOf(tokens.member, agent, query)).body),
  );

  expect([worn.persona_slug, worn.instructions, worn.tools.map((tool: { name: string }) => tool.name)]).toEqual([
    'formal',
    'Base.\n\nFormal formal.',
    ['two'],
  ]);
  expect([first.instructions, first.tools.length, first.model_settings.temperature, first.model_settings.seed]).toEqual([
    'First.\n\nBase.',
    2,
    0,
    3,
  ]);
  expect([alone.instructions, alone.tools]).toEqual(['Alone.', []]);
  expect(new Set([worn.hash, first.hash, alone.hash]).size).toBe(3);
  expect((await effectiveOf(tokens.member, agent, '?persona_slug=nobody')).body.errors[0]).toMatchObject({
    name: 'persona_slug',
    rule: 'reference',
  });
});

test('the active revision is shown, else the newest; none at all is 409, another agent’s 422', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin, { activate: false });
  const bare = await world.call(tokens.member, 'POST', '/agents', { body: { slug: 'bare', name: 'Bare' } });
  const second = await made(tokens.member, `/agents/${agent.id}/revisions`, { document: { instructions: 'Two' } });

  expect((await effectiveOf(tokens.member, agent)).body.revision_id).toBe(second.id);
  expect((await effectiveOf(tokens.member, bare.body)).body).toMatchObject({ status: 409, context: { reason: 'agent_inactive' } });
  expect((await effectiveOf(tokens.member, bare.body, `?revision_id=${second.id}`)).status).toBe(422);
  expect((await effectiveOf(tokens.viewer, agent)).status).toBe(403);
  expect((await effectiveOf((await world.tenant()).tokens.member, agent)).status).toBe(404);
});

test('a toolkit gives its tools within include and exclude; an edit of a tool changes the hash', async () => {
  const { tokens } = await world.tenant();
  const toolkit = await made(tokens.admin, '/toolkits', { slug: 'kit', name: 'Kit', kind: 'manual', config: {} });
  const tools = ['a', 'b', 'c'].map((name) => ({
    name,
    description: `Tool ${name}`,
    input_schema: { type: 'object' },
    config: { method: 'GET', url: 'https://kit.example.com/x' },
  }));
  const revision = await made(tokens.admin, `/toolkits/${toolkit.id}/revisions`, { source: { type: 'manual', tools } });
  const activated = await world.call(tokens.admin, 'POST', `/toolkits/${toolkit.id}/revisions/${revision.id}/activate`, {
    body: { approve: 'all' },
  });
  const document = (binding: object) => ({ model: 'builtin/extractive', toolkits: [{ slug: 'kit', ...binding }] });
  const agent = await makeAgent(world, tokens.admin, { revision: document({ include: ['a', 'b'], exclude: ['b'] }) });

  const before = (await effectiveOf(tokens.member, agent)).body;
  const [tool] = before.tools;
  await world.call(tokens.admin, 'PATCH', `/tools/${tool?.tool_id}`, { body: { timeout_s: 9 } });
  const after = (await effectiveOf(tokens.member, agent)).body;

  expect(activated.status).toBe(200);
  expect(before.tools).toMatchObject([{ name: 'kit__a', kind: 'http', toolkit_revision_id: revision.id, description: 'Tool a' }]);
  expect(after.tools[0].timeout_s).toBe(9);
  expect(after.hash).not.toBe(before.hash);
});

test('effective takes at most three statements, whatever the revision binds', async () => {
  const { tokens } = await world.tenant();
  for (const slug of ['one', 'two']) await made(tokens.admin, '/tools', httpTool(slug));
  await promotedSkill(tokens.admin, 'tone', 'Be polite.');
  const agent = await makeAgent(world, tokens.admin, {
    revision: { model: 'builtin/extractive', tools: [{ slug: 'one' }, { slug: 'two' }], skills: [{ slug: 'tone' }] },
  });
  await effectiveOf(tokens.member, agent); // the caller is known from now on
  const { config } = world.api.deps.db.app;
  const onQuery = config.get('onQuery');
  const statements: string[] = [];
  config.set('onQuery', (sql: string, params: readonly unknown[]) => {
    statements.push(sql);
    return onQuery(sql, params);
  });

  const shown = await effectiveOf(tokens.member, agent).finally(() => config.set('onQuery', onQuery));

  expect(shown.status).toBe(200);
  expect(statements.filter((sql) => /^\s*(select|with|update|insert)/i.test(sql)).length).toBeLessThanOrEqual(3);
});

test('a revision stored by an older release is read, compared and shown complete', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const id = newId();
  const old = {
    schema_version: 1,
    model: 'builtin/extractive',
    instructions: 'Old',
    tools: [],
    limits: { max_steps: 3, max_duration_s: 60, max_output_tokens: null, max_tool_calls: 5 },
  };
  await sweep(world.api.db, (em) =>
    rows(
      em,
      `insert into agent_revisions (id, agent_id, organization_id, workspace_id, number, document, document_hash, created_by, created_at)
       select ?, a.id, a.organization_id, a.workspace_id, 2, ?::jsonb, repeat('0', 64), '{"kind":"system","id":null}', now() from agents a where a.id = ?`,
      [id, JSON.stringify(old), agent.id],
    ),
  );

  const read = await world.call(tokens.viewer, 'GET', `/agents/${agent.id}/revisions/${id}`);
  const shown = await effectiveOf(tokens.member, agent, `?revision_id=${id}`);
  const diff = await world.call(tokens.viewer, 'GET', `/agents/${agent.id}/revisions/${id}/diff`);

  expect(read.body.document).toMatchObject({
    instructions: 'Old',
    skills: [],
    approvals: { write: 'auto' },
    context: { keep_last_turns: 20 },
  });
  expect(shown.body).toMatchObject({ instructions: 'Old', limits: { max_steps: 3 } });
  expect(diff.body.changes.map((change: { pointer: string }) => change.pointer)).toContain('/limits/max_steps');
});
