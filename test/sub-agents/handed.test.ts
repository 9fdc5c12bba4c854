import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseFrame } from '../../db/streams/frame-text.ts';
import { endOf, watchRun } from '../support/run-checks.ts';
import { archivedFrames, startRun } from '../support/scenario.ts';
import { asking, familyFaults, familyOf, makeNamed, playing, startFamilyStack, type FamilyStack } from './family.ts';

let world: FamilyStack;

beforeAll(async () => {
  world = await startFamilyStack();
});

afterAll(() => world?.close());

type Body = Record<string, never>;
const request = async <R = Body>(method: string, path: string, body?: unknown): Promise<R> => {
  const answer = await world.stack.request(method, path, body === undefined ? {} : { body });
  if (answer.status > 202) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body as R;
};

/** The machine may be busy with much else. */
const ended = (runId: string) => endOf(watchRun(world.stack, runId));

async function played(agentId: string, text: string, more: Record<string, unknown> = {}): Promise<string> {
  const run = await request<{ id: string }>('POST', '/runs', { agent_id: agentId, input: { text }, ...more });
  await ended(run.id);
  return run.id;
}

async function resultsOf(runId: string) {
  const frames = (await archivedFrames(world.stack, runId)).map(parseFrame);
  return frames.flatMap((frame) => (frame.type === 'tool.result' && frame.run_id === runId ? [frame.data] : []));
}

async function childOf(runId: string) {
  const [, child] = await familyOf(world.stack, runId);
  if (!child) throw new Error('nobody was asked');
  return child;
}

async function messagesOf(runId: string) {
  const page = await request<{ items: { role: string; origin: string; pos: number; content: Record<string, unknown>[] }[] }>(
    'GET',
    `/runs/${runId}/messages`,
  );
  return page.items;
}

test('an agent with an input schema is asked with that input, which its instructions can use; what does not fit is refused', async () => {
  const { models } = world;
  const leaf = await makeNamed(world.stack, {
    instructions: 'City: {{ vars.city }}',
    variables: [{ name: 'city', required: true }],
    input_schema: {
      type: 'object',
      properties: { city: { $ref: '#/$defs/city' } },
      required: ['city'],
      additionalProperties: false,
      $defs: { city: { type: 'string', maxLength: 10 } },
    },
  });
  const top = await makeNamed(world.stack, { sub_agents: [{ id: leaf.id }] });
  const effective = await request<{
    tools: { name: string; kind: string; input_schema: unknown }[];
    sub_agents: unknown[];
    warnings: unknown[];
  }>('GET', `/agents/${top.id}/effective`);
  const told = playing(models, [{ text: 'Rain.' }]);

  const runId = await played(
    top.id,
    playing(models, [
      asking([leaf, { input: { city: 'a name that is too long' } }], [leaf, { task: 'no input' }]),
      asking([leaf, { task: told, input: { city: 'Rome' } }]),
      { text: 'Thanks.' },
    ]),
  );

  expect(effective).toMatchObject({
    tools: [
      {
        name: leaf.ask,
        kind: 'delegate',
        effect: 'write',
        input_schema: { required: ['input'], properties: { input: { properties: { city: { $ref: '#/properties/input/$defs/city' } } } } },
      },
    ],
    sub_agents: [{ agent_id: leaf.id, tool_name: leaf.ask }],
    warnings: [],
  });
  const results = await resultsOf(runId);
  expect(results.map(({ status, error }) => error?.code ?? status)).toEqual(['invalid_arguments', 'invalid_arguments', 'succeeded']);
  const [input] = await messagesOf((await childOf(runId)).id);
  expect(input).toMatchObject({
    role: 'user',
    origin: 'user',
    content: [
      { type: 'text', text: told },
      { type: 'json', value: { city: 'Rome' } },
    ],
  });
  expect(models.calls().some(({ body }) => JSON.stringify(body).includes('City: Rome'))).toBe(true);
  expect(await familyFaults(world.stack, runId)).toEqual([]);
});

test('with history summary the child reads what was said before, marked as injected; without it nothing', async () => {
  const { models } = world;
  const leaf = await makeNamed(world.stack);
  const top = await makeNamed(world.stack, { sub_agents: [{ id: leaf.id, history: 'summary' }] });
  const plain = await makeNamed(world.stack, { sub_agents: [{ id: leaf.id }] });
  const session = crypto.randomUUID();
  await played(top.id, `My name is Ada. ${playing(models, [{ text: 'Hello Ada.' }])}`, { session_key: session });
  const task = playing(models, [{ text: 'I know her.' }]);

  const runId = await played(top.id, playing(models, [asking([leaf, task]), { text: 'Done.' }]), { session_key: session });
  const plainId = await played(plain.id, playing(models, [asking([leaf, task]), { text: 'Done.' }]));

  const child = await childOf(runId);
  const messages = await messagesOf(child.id);
  expect(messages.map(({ role, origin, pos }) => `${pos} ${role} ${origin}`)).toEqual([
    '0 user injected',
    '1 user user',
    '2 assistant model',
  ]);
  expect(JSON.stringify(messages[0]?.content)).toContain('My name is Ada.');
  expect(JSON.stringify(messages[0]?.content)).toContain('Hello Ada.');
  const inputs = (await archivedFrames(world.stack, child.id)).map(parseFrame).filter((frame) => frame.type === 'message.completed');
  expect(inputs.map((frame) => (frame.type === 'message.completed' ? frame.data.origin : null))).toEqual(['injected', 'user', 'model']);
  expect(await messagesOf((await childOf(plainId)).id)).toHaveLength(2);
  expect(await familyFaults(world.stack, runId)).toEqual([]);
});

test('files of the run are handed over by id; those of others are not', async () => {
  const { models, stack } = world;
  const leaf = await makeNamed(stack);
  const top = await makeNamed(stack, { sub_agents: [{ id: leaf.id }] });
  const upload = async (name: string): Promise<string> => {
    const form = new FormData();
    form.append('file', new Blob(['Numbers: 1, 2, 3']), name);
    const answer = await fetch(`${stack.url()}/attachments`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.tenant.serviceKey.plaintext}` },
      body: form,
    });
    if (answer.status !== 201) throw new Error(`upload: ${answer.status} ${await answer.text()}`);
    return ((await answer.json()) as { id: string }).id;
  };
  const [given, other] = [await upload('numbers.txt'), await upload('other.txt')];
  const task = playing(models, [{ text: 'Read.' }]);

  const runId = await played(
    top.id,
    playing(models, [asking([leaf, { task, attachments: [other] }], [leaf, { task, attachments: [given] }]), { text: 'Done.' }]),
  );
  const withFile = await request<{ id: string }>('POST', '/runs', {
    agent_id: top.id,
    input: {
      text: playing(models, [asking([leaf, { task, attachments: [other] }], [leaf, { task, attachments: [given] }]), { text: 'Done.' }]),
      attachments: [{ attachment_id: given }],
    },
  });
  await ended(withFile.id);

  expect((await resultsOf(runId)).map(({ error }) => error?.code)).toEqual(['invalid_arguments', 'invalid_arguments']);
  const results = await resultsOf(withFile.id);
  expect(results.map(({ status, error }) => error?.code ?? status).toSorted()).toEqual(['invalid_arguments', 'succeeded']);
  const child = await childOf(withFile.id);
  expect((await messagesOf(child.id))[0]?.content).toMatchObject([
    { type: 'text' },
    { type: 'attachment', attachment_id: given, name: 'numbers.txt' },
  ]);
  expect(await familyFaults(stack, withFile.id)).toEqual([]);
});

test('a delegate tool asks the agent of its config, at its revision, as its persona, and gives JSON where it is to', async () => {
  const { models, stack } = world;
  const leaf = await makeNamed(stack, { input_schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } });
  await request('POST', `/agents/${leaf.id}/personas`, { slug: 'calm', name: 'Calm', instructions: 'Stay calm.' });
  const revisions = await request<{ items: { id: string }[] }>('GET', `/agents/${leaf.id}/revisions`);
  const slug = `helper-${crypto.randomUUID().slice(0, 8)}`;
  const config = { agent: { id: leaf.id }, revision: revisions.items[0]?.id, persona_slug: 'calm', output: 'json' };
  const tool = await request<{ id: string }>('POST', '/tools', { slug, kind: 'delegate', description: 'Asks the helper.', config });
  const top = await makeNamed(stack, { tools: [{ id: tool.id }] });
  const task = playing(models, [{ text: '{"answer": 42}' }]);

  const runId = await played(
    top.id,
    playing(models, [asking([slug, { task, input: { n: 'one' } }], [slug, { task, input: { n: 1 } }]), { text: 'Done.' }]),
  );

  const results = await resultsOf(runId);
  expect(results.map(({ status, error }) => error?.code ?? status).toSorted()).toEqual(['invalid_arguments', 'succeeded']);
  expect(results.find(({ status }) => status === 'succeeded')).toMatchObject({ output: { status: 'succeeded', output: { answer: 42 } } });
  const child = await childOf(runId);
  expect(child).toMatchObject({ persona_slug: 'calm', agent_revision_id: revisions.items[0]?.id, input: { json: { n: 1 } } });
  expect(await familyFaults(stack, runId)).toEqual([]);
});

test('an agent that is switched off after the run has begun is a failed result, not the end of the run', async () => {
  const { models, stack } = world;
  const leaf = await makeNamed(stack);
  const top = await makeNamed(stack, { sub_agents: [{ id: leaf.id }] });
  const run = await startRun(
    stack,
    top.id,
    playing(models, [{ ...asking([leaf, 'Hello?']), first_token_ms: 3_000 }, { text: 'Alone then.' }]),
  );
  const reader = watchRun(stack, run.id);
  while (!reader.frames.some((frame) => frame.type === 'run.started')) await new Promise((resolve) => setTimeout(resolve, 50));

  await request('PATCH', `/agents/${leaf.id}`, { is_active: false });
  await endOf(reader);

  expect(await resultsOf(run.id)).toMatchObject([{ status: 'failed', error: { code: 'tool_unavailable', reason: 'agent_inactive' } }]);
  expect(await familyOf(stack, run.id)).toMatchObject([{ status: 'succeeded' }]);
  expect(await familyFaults(stack, run.id)).toEqual([]);
});

test('a long answer is cut for the model, which can read on', async () => {
  const { models, stack } = world;
  const leaf = await makeNamed(stack);
  const reader = await request<{ id: string; slug: string }>('POST', '/tools', {
    slug: `read-${crypto.randomUUID().slice(0, 8)}`,
    kind: 'builtin',
    description: 'Reads on.',
    config: { name: 'result_read' },
  });
  const top = await makeNamed(stack, { sub_agents: [{ id: leaf.id }], tools: [{ id: reader.id }] });
  const long = 'All work and no play. '.repeat(2_000);

  const runId = await played(top.id, playing(models, [asking([leaf, playing(models, [{ text: long, tokens: 10 }])]), { text: 'Long.' }]));

  const [result] = await resultsOf(runId);
  expect(result).toMatchObject({ status: 'succeeded', truncated: true, output_type: 'text' });
  expect(result?.total_chars).toBeGreaterThan(long.length);
  expect(String(result?.output)).toHaveLength(20_000);
  expect(await familyFaults(stack, runId)).toEqual([]);
});
