import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ScriptStep } from '../fakes/model-server.ts';
import { checkRun, endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startRun, writeTool, startScenario, type Scenario } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';

let scenario: Scenario;
let models: Scenario['models'];
let effects: Scenario['effects'];
let stack: Scenario['stack'];

beforeAll(async () => {
  scenario = await startScenario();
  ({ models, effects, stack } = scenario);
});

afterAll(() => scenario?.stop());

const unique = (kind: string) => `${kind}-${crypto.randomUUID().slice(0, 8)}`;
const call = (name: string, args: unknown) => ({ name, arguments: args });

async function made(path: string, body: object, method = 'POST'): Promise<{ id: string; version: number }> {
  const answer = await stack.request(method, path, { body });
  if (answer.status > 202) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function promotedSkill(slug: string, instructions: string): Promise<string> {
  const skill = await made('/skills', { slug, description: `About ${slug}.`, instructions });
  await promote(skill.id, 1);
  return skill.id;
}

async function promote(id: string, version: number): Promise<void> {
  for (const to of ['reviewed', 'promoted']) await made(`/skills/${id}/curate`, { to, version });
}

/** Runs these steps to the end; any broken promise of runs and streams fails the test. */
async function play(agentId: string, steps: readonly ScriptStep[], more: object = {}) {
  const started = await made('/runs', { agent_id: agentId, input: { text: scripted({ steps }, `Play ${crypto.randomUUID()}.`) }, ...more });
  const frames = await endOf(watchRun(stack, started.id));
  const checked = await checkRun(stack, started.id, { seen: [frames] });
  expect(checked.faults).toEqual([]);
  return { ...checked, id: started.id, view: (await stack.request('GET', `/runs/${started.id}`)).body as RunFacts };
}

interface RunFacts {
  readonly persona_slug: string | null;
  readonly output: { readonly text: string | null; readonly json: unknown } | null;
  readonly warnings: readonly { readonly message: string }[];
}

const systemPrompts = (words: string) =>
  models
    .calls()
    .filter(({ body }) => JSON.stringify(body).includes(words))
    .map(({ body }) => (body['messages'] as { role: string; content: string }[]).find(({ role }) => role === 'system')?.content ?? '');

test('a run wears the persona that it names, its conversation keeps it, others wear the default', async () => {
  const tool = unique('tool');
  const agent = await makeAgent(stack, [writeTool(tool, effects)], { instructions: 'Base.', tools: [{ slug: tool }] });
  await made(`/agents/${agent.id}/personas`, { slug: 'plain', name: 'Plain', instructions: 'Plainly.', is_default: true });
  await made(`/agents/${agent.id}/personas`, {
    slug: 'bare',
    name: 'Bare',
    instructions: 'Bare {{ persona.name }}.',
    instructions_mode: 'replace',
    tools_allow: [],
  });
  const sessionKey = unique('session');

  const named = await play(agent.id, [{ text: 'One.' }], { persona_slug: 'bare', session_key: sessionKey });
  const followed = await play(agent.id, [{ text: 'Two.' }], { session_key: sessionKey });
  const other = await play(agent.id, [{ text: 'Three.' }]);
  const refused = await stack.request('POST', '/runs', { body: { agent_id: agent.id, input: { text: 'x' }, persona_slug: 'nobody' } });

  expect([named, followed, other].map(({ view }) => view.persona_slug)).toEqual(['bare', 'bare', 'plain']);
  expect(systemPrompts('Bare Bare.').length).toBe(2);
  expect(systemPrompts('Base.\\n\\nPlainly.')).toEqual(['Base.\n\nPlainly.']);
  expect(models.calls().find(({ body }) => JSON.stringify(body).includes('Bare Bare.'))?.body['tools']).toBeUndefined();
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/persona_slug' }] } });
});

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
const jsonAgent = (more: object = {}) => makeAgent(stack, [], { response_format: { type: 'json', schema, ...more } });

test('a JSON answer is the output of the run; the tool that gives it is no call', async () => {
  const agent = await jsonAgent();

  const run = await play(agent.id, [{ tool_calls: [call('emit_result', { city: 'Bern' })] }]);

  expect(run.view.output).toMatchObject({ text: null, json: { city: 'Bern' } });
  expect(run.frames.filter(({ type }) => type.startsWith('tool.'))).toEqual([]);
  expect(run.frames.find(({ type, data }) => type === 'message.completed' && data['role'] === 'assistant')).toMatchObject({
    data: { stop_reason: 'stop', content: [{ type: 'json', value: { city: 'Bern' } }] },
  });
  const deltas = run.frames.filter(({ type }) => type === 'message.delta').map(({ data }) => data);
  expect(new Set(deltas.map(({ block }) => block))).toEqual(new Set(['json']));
  expect(JSON.parse(deltas.map(({ delta }) => delta).join(''))).toEqual({ city: 'Bern' });
});

test('a JSON answer that does not fit is asked for once more; a second one ends the run', async () => {
  // The request for a repair holds no script of its own.
  models.script('scripted', { steps: [{ tool_calls: [call('emit_result', { city: 'Basel' })] }] });
  const repaired = await play((await jsonAgent()).id, [{ text: 'It is Basel.' }]);
  const numbers = { type: 'object', properties: { city: { type: 'number' } }, required: ['city'] };
  const failed = await play((await jsonAgent({ schema: numbers })).id, [{ tool_calls: [call('emit_result', { town: 1 })] }]);

  expect(repaired.view.output?.json).toEqual({ city: 'Basel' });
  expect(repaired.run.steps).toBe(2);
  expect(failed.run).toMatchObject({ status: 'failed', steps: 1, error: { code: 'upstream_failed', reason: 'output_invalid' } });
  expect(failed.run.usage.own.model_calls).toBe(2);
});

test('a worker that dies while the model repairs its answer does not make it one more repair', async () => {
  // The request for a repair holds no script of its own.
  models.script('scripted', { steps: [{ text: 'Still no JSON.', first_token_ms: 4_000 }] });
  const agent = await jsonAgent();
  const words = `Repair ${crypto.randomUUID()}.`;
  const calls = () => models.calls().filter(({ body }) => JSON.stringify(body).includes(words)).length;

  const run = await startRun(stack, agent.id, scripted({ steps: [{ text: 'No JSON.' }] }, words));
  const reader = watchRun(stack, run.id);
  await until(() => calls() === 2);
  await stack.kill('worker-runs');
  await stack.start('worker-runs');
  const frames = await endOf(reader);
  const checked = await checkRun(stack, run.id, { seen: [frames] });

  expect(checked.faults).toEqual([]);
  expect(checked.run).toMatchObject({ status: 'failed', error: { reason: 'output_invalid' } });
  expect(calls()).toBe(3);
  expect(frames.filter(({ type, data }) => type === 'message.completed' && data['origin'] === 'system')).toHaveLength(1);
});

test('keep_last_turns bounds what the model reads of a conversation', async () => {
  const agent = await makeAgent(stack, [], { context: { keep_last_turns: 1 } });
  const sessionKey = unique('session');
  for (const text of ['first answer', 'second answer']) await play(agent.id, [{ text }], { session_key: sessionKey });

  await play(agent.id, [{ text: 'third answer' }], { session_key: sessionKey });

  const told = JSON.stringify(models.calls().findLast(({ body }) => JSON.stringify(body).includes('third answer'))?.body['messages']);
  expect(told).toContain('"content":"second answer"');
  expect(told).not.toContain('"content":"first answer"');
});

test('a conversation that the provider finds too long is shortened once, and the run goes on', async () => {
  const agent = await makeAgent(stack, []);
  const sessionKey = unique('session');
  for (const n of [1, 2, 3]) await play(agent.id, [{ text: `answer ${n} ${'long '.repeat(400)}` }], { session_key: sessionKey });

  const run = await play(agent.id, [{ text: 'Fits now.', limit_tokens: 1_000 }], { session_key: sessionKey });
  const strict = await makeAgent(stack, [], { context: { on_overflow: 'fail' } });
  const failed = await play(strict.id, [{ text: 'Never.', limit_tokens: 1 }]);

  const [long, short] = models
    .calls()
    .filter(({ body }) => JSON.stringify(body).includes('Fits now.'))
    .map(({ body }) => JSON.stringify(body['messages']));
  expect(run.run).toMatchObject({ status: 'succeeded', output: { text: 'Fits now.' } });
  expect(short?.length).toBeLessThan((long?.length ?? 0) / 2);
  expect(short).toContain('[Earlier in this conversation, shortened]');
  expect(failed.run).toMatchObject({ status: 'failed', error: { reason: 'context_too_long' } });
});

test('where nothing of a refused prompt can be left out, the run tells what the provider said', async () => {
  const agent = await makeAgent(stack, []);

  const { run } = await play(agent.id, [{ text: 'Never.', limit_tokens: 1 }]);

  expect(run).toMatchObject({
    status: 'failed',
    error: {
      reason: 'context_too_long',
      message: expect.stringMatching(/nothing more of it can be left out.*It was refused: .*the prompt is longer than the context/s),
    },
  });
});

test('a killed worker and edits meanwhile change nothing: the run goes on with what it began with', async () => {
  const [tool, skill] = [unique('act'), unique('skill')];
  const skillId = await promotedSkill(skill, 'Old skill text.');
  const idempotent = { config: { ...(writeTool(tool, effects)['config'] as object), idempotency_header: 'Idempotency-Key' } };
  const agent = await makeAgent(stack, [writeTool(tool, effects, idempotent)], {
    instructions: 'Old instructions.',
    tools: [{ slug: tool }],
    skills: [{ slug: skill, mode: 'always' }],
  });
  const persona = await made(`/agents/${agent.id}/personas`, { slug: 'p', name: 'P', instructions: 'Old persona.', is_default: true });
  const before = effects.effects.length;
  let isKilled = false;
  effects.onEffect = async (count) => {
    if (count !== before + 1) return;
    await made(`/skills/${skillId}`, { instructions: 'New skill text.' }, 'PATCH');
    await promote(skillId, 2);
    await made(`/agents/${agent.id}/personas/${persona.id}`, { instructions: 'New persona.' }, 'PATCH');
    const revision = await made(`/agents/${agent.id}/revisions`, { document: { instructions: 'New instructions.' } });
    const { headers } = await stack.request('GET', `/agents/${agent.id}`);
    await stack.request('POST', `/agents/${agent.id}/revisions/${revision.id}/activate`, {
      headers: { 'if-match': headers.get('etag') ?? '' },
    });
    await stack.kill('worker-runs');
    isKilled = true;
  };

  const words = `Killed ${crypto.randomUUID()}.`;
  const run = await startRun(stack, agent.id, scripted({ steps: [{ tool_calls: [call(tool, { n: 1 })] }, { text: 'Done.' }] }, words));
  const reader = watchRun(stack, run.id);
  await until(() => isKilled);
  effects.onEffect = null;
  await stack.start('worker-runs');
  const frames = await endOf(reader);
  const checked = await checkRun(stack, run.id, { seen: [frames] });

  expect(checked.faults).toEqual([]);
  expect(checked.run).toMatchObject({ status: 'succeeded', output: { text: 'Done.' } });
  const prompts = systemPrompts(words);
  expect(prompts.length).toBeGreaterThanOrEqual(2);
  expect(new Set(prompts)).toEqual(new Set([`Old instructions.\n\nOld persona.\n\n<skill name="${skill}">\nOld skill text.\n</skill>`]));
  expect((await stack.request('GET', `/skills/${skillId}`)).body).toMatchObject({ use_count: 1 });
});
