import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Deployment } from '../../../db/agents/effective/effective.ts';
import { beginRun } from '../../../domain/runs/start/begin-run.ts';
import { openModelStep } from '../../../domain/runs/steps/model-steps.ts';
import type { RunState } from '../../../db/runs/run-state.ts';
import { rows } from '../../../db/sql.ts';
import { sweep, transact, workspaceTenant } from '../../../db/transaction.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const made = async (token: string, path: string, body: unknown, method: 'POST' | 'PATCH' = 'POST') => {
  const answer = await world.call(token, method, path, { body });
  if (answer.status > 202) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
};
const httpTool = (slug: string, more: object = {}) => ({
  slug,
  kind: 'http',
  description: `Calls ${slug}.`,
  input_schema: { type: 'object' },
  config: { method: 'GET', url: 'https://weather.example.com/' },
  ...more,
});
const kitTool = (name: string, description: string) => ({
  name,
  description,
  input_schema: { type: 'object' },
  config: { method: 'GET', url: 'https://kit.example.com/x' },
});
const etagOf = async (token: string, path: string) => (await world.call(token, 'GET', path)).headers['etag'] ?? '';

/** A manual toolkit with one active revision for each list of tools; gives the ids of its revisions. */
async function toolkitOf(token: string, slug: string, revisions: readonly object[][]): Promise<{ id: string; revisions: string[] }> {
  const toolkit = await made(token, '/toolkits', { slug, name: slug, kind: 'manual', config: {} });
  const ids: string[] = [];
  for (const tools of revisions) {
    const revision = await made(token, `/toolkits/${toolkit.id}/revisions`, { source: { type: 'manual', tools } });
    await made(token, `/toolkits/${toolkit.id}/revisions/${revision.id}/activate`, { approve: 'all' });
    ids.push(revision.id);
  }
  return { id: toolkit.id, revisions: ids };
}

interface Begun {
  readonly tenant: TestTenant;
  readonly runId: string;
  readonly model?: Deployment['model'];
}

/** What beginRun does for a run that was started over HTTP, with the statements that it took. */
async function begin({ tenant, runId, model = world.api.deps.models.resolve }: Begun) {
  const { value, statements } = await asRun({ tenant, runId }, (tx) => beginRun(tx, runId, { model }));
  if (value === null) throw new Error('the run has ended');
  return { run: value, statements };
}

/** Work in a transaction of the run, as its activities do it. */
async function asRun<R>(
  { tenant, runId }: Begun,
  work: (tx: TenantTransaction) => Promise<R>,
): Promise<{ value: R; statements: string[] }> {
  const { config } = world.api.deps.db.app;
  const onQuery = config.get('onQuery');
  const statements: string[] = [];
  config.set('onQuery', (sql: string, params: readonly unknown[]) => {
    statements.push(sql);
    return onQuery(sql, params);
  });
  const place = workspaceTenant(tenant.organizationId, tenant.workspaceIds[0] ?? '');
  const actor = { kind: 'agent_run' as const, id: runId, role: null, actingUserId: null, impersonationId: null };
  const { value } = await transact(world.api.db, { tenant: place, actor, correlationId: 'begin' }, work).finally(() =>
    config.set('onQuery', onQuery),
  );
  return { value, statements: statements.filter((sql) => /^\s*(select|with|update|insert)/i.test(sql)) };
}
const startRun = (token: string, agent: { id: string }, more: object = {}) =>
  made(token, '/runs', { agent_id: agent.id, input: { text: 'Go.' }, ...more });
const pinned = ({ manifest }: RunState) => manifest?.tools.map(({ slug }) => slug);

test('a run pins what GET effective has shown, under the same hash', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  for (const slug of ['one', 'two']) await made(tokens.admin, '/tools', httpTool(slug, { secrets_required: ['key'] }));
  await toolkitOf(tokens.admin, 'kit', [[kitTool('a', 'A'), kitTool('b', 'B')]]);
  const skill = await made(tokens.admin, '/skills', { slug: 'maps', description: 'Maps.', instructions: 'Maps.' });
  for (const to of ['reviewed', 'promoted']) await made(tokens.admin, `/skills/${skill.id}/curate`, { to, version: 1 });
  const helper = await makeAgent(world, tokens.admin);
  const agent = await makeAgent(world, tokens.admin, {
    revision: {
      model: 'builtin/extractive',
      instructions: 'Help {{ subject.id }}.',
      tools: [
        { slug: 'one', preset: { x: 1 } },
        { slug: 'two', approval: 'first' },
      ],
      toolkits: [{ slug: 'kit' }],
      skills: [{ slug: 'maps' }],
      sub_agents: [{ id: helper.id }],
    },
  });
  await made(tokens.admin, `/agents/${agent.id}/personas`, {
    slug: 'p',
    name: 'P',
    is_default: true,
    tools_allow: ['one', 'two', 'kit__b', `ask_${helper.slug}`],
  });

  const shown = await world.call(tokens.member, 'GET', `/agents/${agent.id}/effective`);
  const { run } = await begin({ tenant, runId: (await startRun(tokens.member, agent)).id });

  expect(run.manifest?.hash).toBe(shown.body.hash);
  expect(pinned(run)).toEqual(['one', 'two', 'kit__b', `ask_${helper.slug}`, 'skill_load']);
  expect(run.manifest).toMatchObject({ persona: { slug: 'p', version: 1 }, skills: [{ slug: 'maps', version: 1 }] });
});

test('what needs an approval is pinned with why and by whom, whether binding, effect, toolkit or tool demands it', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  for (const slug of ['r-default', 'r-never', 'r-always', 'r-first']) await made(tokens.admin, '/tools', httpTool(slug));
  for (const slug of ['w-default', 'w-never']) await made(tokens.admin, '/tools', httpTool(slug, { effect: 'write' }));
  await made(tokens.admin, '/tools', httpTool('critical', { critical: true }));
  await made(tokens.admin, '/tools', httpTool('theirs', { client_owned: true }));
  await toolkitOf(tokens.admin, 'kit', [[kitTool('a', 'A')]]);
  const bindings = ['r-default', 'r-never', 'r-always', 'r-first', 'w-default', 'w-never', 'critical', 'theirs'].map((slug) => ({
    slug,
    approval: /never|always|first/.exec(slug)?.[0] ?? 'default',
  }));
  const agent = await makeAgent(world, tokens.admin, {
    revision: {
      model: 'builtin/extractive',
      tools: bindings,
      toolkits: [{ slug: 'kit', approval: 'always' }],
      approvals: { write: 'ask', approver_floor: 'admin' },
    },
  });

  const { run } = await begin({ tenant, runId: (await startRun(tokens.member, agent)).id });

  expect(run.manifest?.tools.map(({ slug, gate, floor }) => [slug, gate, floor])).toEqual([
    ['r-default', null, 'admin'],
    ['r-never', null, 'admin'],
    ['r-always', 'binding', 'admin'],
    ['r-first', 'first', 'admin'],
    ['w-default', 'effect', 'admin'],
    ['w-never', null, 'admin'],
    ['critical', 'critical', 'admin'],
    ['theirs', null, 'admin'],
    ['kit__a', 'binding', 'admin'],
  ]);
});

/** Why the calls of each tool of an agent wait for a person, as GET effective shows it and as a run pins it. */
async function approvalsOf(tenant: TestTenant, agent: { id: string }, persona = '') {
  const { token, more } = { token: tenant.tokens.member, more: persona === '' ? {} : { persona_slug: persona } };
  const query = persona === '' ? '' : `?persona_slug=${persona}`;
  const shown = await world.call(token, 'GET', `/agents/${agent.id}/effective${query}`);
  const { run } = await begin({ tenant, runId: (await startRun(token, agent, more)).id });
  const told: [string, string | null][] = shown.body.tools.map((tool: { name: string; approval: { reason: string | null } }) => [
    tool.name,
    tool.approval.reason,
  ]);
  expect(run.manifest?.tools.map(({ slug, gate }) => [slug, gate])).toEqual(told);
  expect(run.manifest?.hash).toBe(shown.body.hash);
  return Object.fromEntries(told);
}

test('a tool bound by itself and through its toolkit asks as the stricter of both says, whichever it is', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const ways = ['default', 'never', 'first', 'always'] as const;
  const pairs = ways.flatMap((own) => ways.map((kit) => [own, kit] as const));
  for (const kit of ways) await toolkitOf(tokens.admin, kit, [ways.map((own) => kitTool(own, own))]);
  const agentWith = (write: 'auto' | 'ask') =>
    makeAgent(world, tokens.admin, {
      revision: {
        model: 'builtin/extractive',
        tools: pairs.map(([own, kit]) => ({ slug: `${kit}__${own}`, approval: own, max_calls: 3 })),
        toolkits: ways.map((kit) => ({ slug: kit, approval: kit })),
        approvals: { read: write, write },
      },
    });
  const strictest = (own: string, kit: string, byEffect: 'effect' | null) => {
    const said = [own, kit].map((way) => ({ always: 'binding', default: byEffect, first: 'first' })[way] ?? null);
    return ['binding', 'effect', 'first'].find((reason) => said.includes(reason)) ?? null;
  };

  for (const [write, byEffect] of [['auto', null] as const, ['ask', 'effect'] as const]) {
    const asked = await approvalsOf(tenant, await agentWith(write));
    expect(asked).toEqual(Object.fromEntries(pairs.map(([own, kit]) => [`${kit}__${own}`, strictest(own, kit, byEffect)])));
  }
});

test('the stricter approval holds in imported revisions and under personas; a toolkit that leaves the tool out says nothing of it', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const { revisions } = await toolkitOf(tokens.admin, 'kit', [
    [kitTool('a', 'A'), kitTool('b', 'B')],
    [kitTool('a', 'A2'), kitTool('b', 'B')],
  ]);
  const revision = (toolkit: object) => ({
    model: 'builtin/extractive',
    tools: [{ slug: 'kit__a', approval: 'never', preset: { x: 1 } }, { slug: 'kit__b' }],
    toolkits: [{ slug: 'kit', approval: 'always', ...toolkit }],
  });
  const imported = await made(tokens.admin, '/agents/import', {
    slug: 'imported',
    name: 'Imported',
    revision: revision({ revision: revisions[0] }),
    personas: [{ slug: 'narrow', name: 'Narrow', tools_allow: ['kit__a'] }],
  });
  const etag = await etagOf(tokens.admin, `/agents/${imported.id}`);
  const [first] = (await world.call(tokens.admin, 'GET', `/agents/${imported.id}/revisions`)).body.items;
  await world.call(tokens.admin, 'POST', `/agents/${imported.id}/revisions/${first.id}/activate`, { headers: { 'if-match': etag } });
  const excluding = await makeAgent(world, tokens.admin, { revision: revision({ exclude: ['a'] }) });

  expect(await approvalsOf(tenant, imported)).toEqual({ kit__a: 'binding', kit__b: 'binding' });
  expect(await approvalsOf(tenant, imported, 'narrow')).toEqual({ kit__a: 'binding' });
  expect(await approvalsOf(tenant, excluding)).toEqual({ kit__a: null, kit__b: 'binding' });
});

test('an agent asked as a sub-agent and by a delegate tool is asked as the stricter of both says; another form of it is not', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const helper = await makeAgent(world, tokens.admin);
  await made(tokens.admin, `/agents/${helper.id}/personas`, { slug: 'brief', name: 'Brief' });
  const delegate = { kind: 'delegate', description: 'Asks the helper.' };
  await made(tokens.admin, '/tools', { ...delegate, slug: 'research', config: { agent: { id: helper.id } } });
  await made(tokens.admin, '/tools', { ...delegate, slug: 'skim', config: { agent: { id: helper.id }, persona_slug: 'brief' } });
  const agent = await makeAgent(world, tokens.admin, {
    revision: {
      model: 'builtin/extractive',
      tools: [{ slug: 'research', approval: 'always' }, { slug: 'skim' }],
      sub_agents: [{ id: helper.id }],
    },
  });

  expect(await approvalsOf(tenant, agent)).toEqual({ research: 'binding', skim: null, [`ask_${helper.slug}`]: 'binding' });
});

test('a toolkit pinned to an older revision gives its tools as they were then', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const kit = await toolkitOf(tokens.admin, 'kit', [
    [kitTool('a', 'First a'), kitTool('gone', 'Gone')],
    [kitTool('a', 'Second a'), kitTool('new', 'New')],
  ]);
  const [first, second] = kit.revisions;
  const agentOf = (revision: string | undefined, more: object = {}) =>
    makeAgent(world, tokens.admin, { revision: { model: 'builtin/extractive', toolkits: [{ slug: 'kit', revision, ...more }] } });
  const [old, named, current] = [await agentOf(first), await agentOf(first, { include: ['a', 'gone'] }), await agentOf(second)];
  const both = await makeAgent(world, tokens.admin, {
    revision: { model: 'builtin/extractive', tools: [{ slug: 'kit__new' }], toolkits: [{ slug: 'kit', revision: first }] },
  });
  const shownOf = async (agent: { id: string }) => (await world.call(tokens.member, 'GET', `/agents/${agent.id}/effective`)).body;
  const toolsOf = async (agent: { id: string }) =>
    (await shownOf(agent)).tools.map((tool: { name: string; description: string; toolkit_revision_id: string }) => [
      tool.name,
      tool.description,
      tool.toolkit_revision_id,
    ]);

  expect(await toolsOf(old)).toEqual([['kit__a', 'First a', first]]);
  expect((await shownOf(named)).warnings).toMatchObject([{ rule: 'left_out', params: { kind: 'tool', slug: 'gone' } }]);
  expect(await toolsOf(current)).toEqual([
    ['kit__a', 'Second a', second],
    ['kit__new', 'New', second],
  ]);
  expect(await toolsOf(both)).toEqual([
    ['kit__new', 'New', second],
    ['kit__a', 'First a', first],
  ]);
  const { run } = await begin({ tenant, runId: (await startRun(tokens.member, old)).id });
  expect(run.manifest?.tools).toMatchObject([{ slug: 'kit__a', version: 1, toolkit_revision_id: first }]);
  expect(run.manifest?.hash).toBe((await shownOf(old)).hash);
});

test('a toolkit that is switched off gives no tool, not even one that is bound by itself', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const kit = await toolkitOf(tokens.admin, 'kit', [[kitTool('a', 'A')]]);
  const agent = await makeAgent(world, tokens.admin, { revision: { model: 'builtin/extractive', tools: [{ slug: 'kit__a' }] } });
  const path = `/toolkits/${kit.id}`;
  await world.call(tokens.admin, 'PATCH', path, { body: { is_active: false }, headers: { 'if-match': await etagOf(tokens.admin, path) } });

  const { run } = await begin({ tenant, runId: (await startRun(tokens.member, agent)).id });
  const checked = await world.call(tokens.member, 'POST', `/agents/${agent.id}/validate`, {
    body: { revision: { model: 'builtin/extractive', tools: [{ slug: 'kit__a' }] } },
  });

  expect(pinned(run)).toEqual([]);
  expect(checked.body.problems).toContainEqual(expect.objectContaining({ stage: 'activate', pointer: '/tools/0', rule: 'inactive' }));
});

test('a conversation whose persona was switched off goes on with the default one, never with more tools', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  for (const slug of ['one', 'two']) await made(tokens.admin, '/tools', httpTool(slug));
  const agent = await makeAgent(world, tokens.admin, {
    revision: { model: 'builtin/extractive', tools: [{ slug: 'one' }, { slug: 'two' }] },
  });
  const personas = `/agents/${agent.id}/personas`;
  await made(tokens.admin, personas, { slug: 'house', name: 'House', is_default: true, tools_allow: ['one'] });
  const chosen = await made(tokens.admin, personas, { slug: 'chosen', name: 'Chosen', tools_allow: [] });
  const started = await startRun(tokens.member, agent, { persona_slug: 'chosen', session_key: 's' });
  const off = await world.call(tokens.admin, 'PATCH', `${personas}/${chosen.id}`, {
    body: { is_active: false },
    headers: { 'if-match': chosen.etag },
  });

  const { run } = await begin({ tenant, runId: started.id });
  const read = await world.call(tokens.member, 'GET', `/runs/${started.id}`);

  expect(off.status).toBe(200);
  expect(pinned(run)).toEqual(['one']);
  expect(run.manifest?.persona).toMatchObject({ slug: 'house' });
  expect(read.body).toMatchObject({ persona_slug: 'house', warnings: [{ message: expect.stringContaining('persona chosen') }] });
});

test('a persona whose model calls no tools takes them all along, and the run says so', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  await made(tokens.admin, '/tools', httpTool('one'));
  const agent = await makeAgent(world, tokens.admin, { revision: { model: 'builtin/extractive', tools: [{ slug: 'one' }] } });
  const { resolve } = world.api.deps.models;
  const model: Deployment['model'] = (name) => {
    const found = resolve(name);
    return found && { ...found, capabilities: { ...found.capabilities, tools: false } };
  };

  const started = await startRun(tokens.member, agent);
  await begin({ tenant, runId: started.id, model });
  const read = await world.call(tokens.member, 'GET', `/runs/${started.id}`);

  expect(read.body.warnings).toEqual([{ code: 'state_conflict', message: expect.stringContaining('can not call tools') }]);
});

test('variables named as what every object has are read like any other', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const agent = await makeAgent(world, tokens.admin, {
    revision: {
      model: 'builtin/extractive',
      instructions: 'Build {{ vars.constructor }} {{ vars.toString }}.',
      variables: [{ name: 'constructor', default: 'houses' }, { name: 'toString' }],
    },
  });

  const shown = await world.call(tokens.member, 'GET', `/agents/${agent.id}/effective`);
  const { run } = await begin({ tenant, runId: (await startRun(tokens.member, agent)).id });

  expect(shown.status).toBe(200);
  expect(shown.body.instructions).toBe('Build houses .');
  expect(run.manifest?.vars).toEqual({ constructor: 'houses', toString: null });
});

test('a run that an older release has begun goes on with what it pinned', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  await made(tokens.admin, '/tools', httpTool('one'));
  const agent = await makeAgent(world, tokens.admin, {
    revision: { model: 'builtin/extractive', instructions: 'Old.', tools: [{ slug: 'one' }] },
  });
  const { id: runId } = await startRun(tokens.member, agent);
  await begin({ tenant, runId });
  await sweep(world.api.db, async (em) => {
    await rows(
      em,
      `update runs set manifest = (manifest - 'skills' - 'persona' - 'hash') #- '{tools,0,toolkit_revision_id}' where id = ? returning id`,
      [runId],
    );
    const later = ['response_format', 'toolkits', 'skills', 'sub_agents', 'knowledge', 'approvals', 'context', 'input_schema'];
    await rows(em, `update tool_versions set descriptor = descriptor - 'critical' - 'client_owned' - 'is_idempotent' returning id`);
    await rows(em, `update agent_revisions set document = document - ?::text[] where agent_id = ? returning id`, [later, agent.id]);
  });

  const { value: step } = await asRun({ tenant, runId }, (tx) => openModelStep(tx, { runId, step: 1 }));

  if (step.kind !== 'open') throw new Error(step.kind);
  expect(step).toMatchObject({ persona: null, skills: [], tools: [{ slug: 'one', clientOwned: false, critical: false }] });
  expect(step.document).toMatchObject({ instructions: 'Old.', context: { keep_last_turns: 20 }, response_format: { type: 'text' } });
});

test('a plain run takes no more statements to begin and to open a step than before there were layers', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  await made(tokens.admin, '/tools', httpTool('one'));
  const plain = await makeAgent(world, tokens.admin);
  const bound = await makeAgent(world, tokens.admin, { revision: { model: 'builtin/extractive', tools: [{ slug: 'one' }] } });

  const counts: number[][] = [];
  for (const agent of [plain, bound]) {
    const { id: runId } = await startRun(tokens.member, agent);
    const begun = await begin({ tenant, runId });
    const opened = await asRun({ tenant, runId }, (tx) => openModelStep(tx, { runId, step: 1 }));
    counts.push([begun.statements.length, opened.statements.length]);
  }

  expect(counts).toEqual([
    [6, 5],
    [7, 6],
  ]);
});
