import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

interface Told {
  readonly stage: string;
  readonly pointer: string;
  readonly rule: string;
}

const validate = (token: string, agent: { id: string }, revision: object, more: object = {}) =>
  world.call(token, 'POST', `/agents/${agent.id}/validate`, { body: { revision, ...more } });
const told = (problems: Told[]) => problems.map(({ stage, pointer, rule }) => `${stage} ${pointer} ${rule}`);
const etagOf = async (token: string, agent: { id: string }) =>
  (await world.call(token, 'GET', `/agents/${agent.id}`)).headers['etag'] ?? '';
const activate = async (token: string, agent: { id: string }, revisionId: string) =>
  world.call(token, 'POST', `/agents/${agent.id}/revisions/${revisionId}/activate`, {
    headers: { 'if-match': await etagOf(token, agent) },
  });
const revise = async (token: string, agent: { id: string }, document: object): Promise<string> => {
  const answer = await world.call(token, 'POST', `/agents/${agent.id}/revisions`, { body: { document } });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.id;
};

test('a dry run tells what stands against storing, activating and running, and stores nothing', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  await world.call(tokens.admin, 'POST', '/tools', {
    body: { slug: 'off', kind: 'builtin', description: 'Off.', config: { name: 'current_time' }, is_active: false },
  });
  await world.call(tokens.admin, 'POST', '/skills', { body: { slug: 'draft', description: 'Draft.', instructions: 'Draft.' } });
  await makeAgent(world, tokens.admin, { slug: 'helper', activate: false });

  const checked = await validate(tokens.member, agent, {
    model: 'builtin/extractive',
    tools: [{ slug: 'off' }],
    skills: [{ slug: 'draft' }],
    sub_agents: [{ slug: 'helper' }],
    response_format: { type: 'json', schema: { type: 'object', properties: { a: { type: 'wrong' } } } },
    input_schema: { type: 'string' },
  });
  const listed = await world.call(tokens.viewer, 'GET', `/agents/${agent.id}/revisions`);

  expect(checked.status).toBe(200);
  expect(checked.body.valid).toBe(false);
  expect(
    told(checked.body.problems)
      .filter((line) => !line.startsWith('run'))
      .toSorted(),
  ).toEqual([
    'activate /skills/0 inactive',
    'activate /sub_agents/0 inactive',
    'activate /tools/0 inactive',
    'create /input_schema/type const',
    'create /model capability',
    'create /response_format/schema schema',
  ]);
  expect(told(checked.body.problems)).toContain('run /tools/0 left_out');
  expect(listed.body.items).toHaveLength(1);
});

test('what can be stored and activated is valid; the estimate counts prompt and tools', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);

  const small = await validate(tokens.member, agent, { model: 'builtin/extractive', instructions: 'Answer.' });
  const long = await validate(tokens.member, agent, { model: 'builtin/extractive', instructions: 'word '.repeat(10_000) });
  const worn = await validate(tokens.member, agent, { model: 'builtin/extractive' }, { persona_slug: 'nobody' });

  expect(small.body).toEqual({ valid: true, problems: [], prompt_tokens_estimate: 2 });
  expect(long.body.prompt_tokens_estimate).toBe(12_500);
  expect(worn.body.errors).toMatchObject([{ pointer: '/persona_slug', rule: 'reference' }]);
  expect((await validate(tokens.viewer, agent, {})).status).toBe(403);
  expect((await validate((await world.tenant()).tokens.member, agent, {})).status).toBe(404);
});

test('five unknown references are five entries, each with kind and slug, and nothing is stored', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const document = {
    tools: [{ slug: 'no-tool' }],
    toolkits: [{ slug: 'no-kit' }],
    skills: [{ slug: 'no-skill' }],
    sub_agents: [{ slug: 'no-agent' }],
    knowledge: [{ slug: 'no-base' }],
  };

  const refused = await world.call(tokens.member, 'POST', `/agents/${agent.id}/revisions`, { body: { document } });

  expect(refused.status).toBe(422);
  expect(
    refused.body.errors.map(({ pointer, rule, params }: { pointer: string; rule: string; params: object }) => [pointer, rule, params]),
  ).toEqual([
    ['/document/knowledge/0', 'reference', { kind: 'knowledge', slug: 'no-base' }],
    ['/document/skills/0', 'reference', { kind: 'skill', slug: 'no-skill' }],
    ['/document/sub_agents/0', 'reference', { kind: 'sub_agent', slug: 'no-agent' }],
    ['/document/toolkits/0', 'reference', { kind: 'toolkit', slug: 'no-kit' }],
    ['/document/tools/0', 'reference', { kind: 'tool', slug: 'no-tool' }],
  ]);
});

test('rows of another workspace and private skills of others are no targets', async () => {
  const { tokens, users, workspaceIds, organizationAdmin } = await world.tenant({ workspaces: 2 });
  const agent = await makeAgent(world, tokens.admin);
  const other = await makeAgent(world, organizationAdmin.token, { workspace_id: workspaceIds[1], slug: 'elsewhere' });
  const skill = await world.call(tokens.admin, 'POST', '/skills', {
    body: { slug: 'private', description: 'Mine.', instructions: 'Mine.', owner_user_id: users.admin.id },
  });
  const document = { sub_agents: [{ id: other.id }], skills: [{ id: skill.body.id }] };

  const refused = await world.call(tokens.member, 'POST', `/agents/${agent.id}/revisions`, { body: { document } });

  expect(refused.status).toBe(422);
  expect(refused.body.errors.map((error: { pointer: string }) => error.pointer)).toEqual(['/document/skills/0', '/document/sub_agents/0']);
});

test('of two activations that together close a cycle one is refused, also at the same moment', async () => {
  const { tokens } = await world.tenant();
  for (let round = 0; round < 4; round++) {
    const left = await makeAgent(world, tokens.admin);
    const right = await makeAgent(world, tokens.admin);
    const [toRight, toLeft] = [
      await revise(tokens.member, left, { model: 'builtin/extractive', sub_agents: [{ id: right.id }] }),
      await revise(tokens.member, right, { model: 'builtin/extractive', sub_agents: [{ id: left.id }] }),
    ];

    const answers = await Promise.all([activate(tokens.admin, left, toRight), activate(tokens.admin, right, toLeft)]);

    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    const refused = answers.find(({ status }) => status === 409);
    expect(refused?.body.context).toMatchObject({
      reason: 'revision_not_activatable',
      problems: [{ rule: 'cycle', pointer: '/sub_agents' }],
    });
  }
});

test('agents ask agents five deep, not six; an agent never asks itself', async () => {
  const { tokens } = await world.tenant();
  let below = await makeAgent(world, tokens.admin);
  for (let depth = 0; depth < 5; depth++)
    below = await makeAgent(world, tokens.admin, { revision: { model: 'builtin/extractive', sub_agents: [{ id: below.id }] } });

  const agent = await makeAgent(world, tokens.admin);
  const tooDeep = await validate(tokens.member, agent, { model: 'builtin/extractive', sub_agents: [{ id: below.id }] });
  const itself = await validate(tokens.member, agent, { model: 'builtin/extractive', sub_agents: [{ id: agent.id }] });

  expect(told(tooDeep.body.problems)).toContain('activate /sub_agents depth');
  expect(told(itself.body.problems)).toContain('create /sub_agents/0 cycle');
});

test('a comparison matches bindings by target and shows the instructions line by line', async () => {
  const { tokens } = await world.tenant();
  for (const slug of ['one', 'two', 'three'])
    await world.call(tokens.admin, 'POST', '/tools', {
      body: { slug, kind: 'builtin', description: slug, config: { name: 'current_time' } },
    });
  const agent = await makeAgent(world, tokens.admin, {
    revision: { model: 'builtin/extractive', instructions: 'A\nB\nC', tools: [{ slug: 'one' }, { slug: 'two' }] },
  });
  const target = await revise(tokens.member, agent, {
    model: 'builtin/extractive',
    instructions: 'A\nX\nC',
    tools: [{ slug: 'two', max_calls: 3 }, { slug: 'three' }],
  });

  const diff = await world.call(tokens.viewer, 'GET', `/agents/${agent.id}/revisions/${target}/diff`);
  const equal = await world.call(tokens.viewer, 'GET', `/agents/${agent.id}/revisions/${target}/diff?against=${target}`);
  const foreign = await makeAgent(world, tokens.admin);
  const refused = await world.call(
    tokens.viewer,
    'GET',
    `/agents/${agent.id}/revisions/${target}/diff?against=${foreign.active_revision_id}`,
  );

  expect(diff.body).toMatchObject({ base: { number: 1 }, target: { id: target, number: 2 }, truncated: false });
  expect(diff.body.changes.map(({ op, pointer }: { op: string; pointer: string }) => `${op} ${pointer}`).toSorted()).toEqual([
    'add /tools/1',
    'remove /tools/0',
    'replace /instructions',
    'replace /tools/0/max_calls',
  ]);
  expect(diff.body.instructions_diff).toBe('@@ -1,3 +1,3 @@\n A\n-B\n+X\n C');
  expect(equal.body).toMatchObject({ changes: [], instructions_diff: null });
  expect(refused.body).toMatchObject({ status: 422, errors: [{ in: 'query', name: 'against', rule: 'reference' }] });
});

test('without an active revision there is nothing to compare with', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin, { activate: false });
  const listed = await world.call(tokens.viewer, 'GET', `/agents/${agent.id}/revisions`);

  const diff = await world.call(tokens.viewer, 'GET', `/agents/${agent.id}/revisions/${listed.body.items[0].id}/diff`);

  expect(diff.body).toMatchObject({ status: 409, context: { reason: 'agent_inactive' } });
});
