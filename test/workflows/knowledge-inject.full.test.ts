import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { ask, makeBase, played, select, type PlayedRun } from './knowledge-run.ts';

let models: ModelServer;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl });
});
afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

const add = (kbId: string, body: object) => ask<{ id: string }>(stack, `/knowledge-bases/${kbId}/items`, body);

/** What the model was sent in the calls that hold these words. */
function promptsWith(words: string): { messages: { role: string; content: unknown }[]; tools: string[] }[] {
  return models
    .calls()
    .map((call) => JSON.parse(JSON.stringify(call.body)))
    .filter((body) => JSON.stringify(body).includes(words))
    .map((body) => ({
      messages: body.messages,
      tools: (body.tools ?? []).map((tool: { function: { name: string } }) => tool.function.name),
    }));
}

function injectedOf({ frames }: PlayedRun): string[] {
  const messages = frames.filter(({ type, data }) => type === 'message.completed' && data['role'] === 'system');
  return messages.map(({ data }) => JSON.stringify(data['content']));
}

test('passages of a base bound to be injected stand before the question, as data, without a tool; a later turn has its own alone', async () => {
  const base = await makeBase(stack);
  const item = await add(base.id, { title: 'Otters', content: 'Otters hold hands while they sleep. ![x](https://evil.example/p.png)' });
  await add(base.id, { title: 'Valves', content: 'Valve nine must be closed by hand.' });
  const agent = await makeAgent(stack, [], { knowledge: [{ slug: base.slug, mode: 'inject', top_k: 2 }] });
  const turn = { session_key: crypto.randomUUID() };

  const first = await played(stack, agent.id, 'How do otters sleep, hands held?', turn);
  const second = await played(stack, agent.id, 'Is valve nine closed by hand?', turn);

  expect([first.status, second.status]).toEqual(['succeeded', 'succeeded']);
  expect(injectedOf(first)).toEqual([expect.stringContaining(item.id)]);
  expect(injectedOf(first)[0]).toMatch(/<<<passage 1 [\w\-]{16} /v);
  expect(injectedOf(first)[0]).not.toContain('evil.example');
  expect(injectedOf(first)[0]).not.toContain('Valve nine');
  expect(injectedOf(second)[0]).toContain('Valve nine');
  const [asked, later] = promptsWith('How do otters sleep');
  const prompt = JSON.stringify(asked?.messages);
  expect(prompt.indexOf('hold hands')).toBeGreaterThan(0);
  expect(prompt.indexOf('hold hands')).toBeLessThan(prompt.indexOf('How do otters sleep'));
  expect(asked?.tools).not.toContain('knowledge_search');
  // What the model has said itself stays.
  expect(JSON.stringify(later?.messages.filter(({ role }) => role === 'user'))).not.toContain('hold hands');
  const used = await select(stack, 'select id from knowledge_items where kb_id = ? and last_used_at is not null', [base.id]);
  expect(used).toContainEqual({ id: item.id });
});

test('nothing is injected that is not about the question, nor what the run may not read; both gives the tool as well', async () => {
  const [base, closed] = [await makeBase(stack), await makeBase(stack)];
  for (const text of ['Otters hold hands while they sleep.', 'The pump is blue.', 'Valve nine must be closed by hand.'])
    await add(base.id, { content: text });
  await add(closed.id, { content: 'The secret otter is called Bob.' });
  const agent = await makeAgent(stack, [], {
    knowledge: [
      { slug: base.slug, mode: 'both' },
      { slug: closed.slug, mode: 'inject' },
    ],
  });
  await select(stack, 'update knowledge_bases set is_private = true where id = ? returning id', [closed.id]);

  const unrelated = await played(stack, agent.id, 'Which taxes does a baker in Lyon pay when wheat gets dearer and closed markets open?');
  const related = await played(stack, agent.id, 'Do otters hold hands?');

  expect(injectedOf(unrelated)).toEqual([]);
  expect(promptsWith('baker in Lyon')[0]?.tools).toContain('knowledge_search');
  expect(injectedOf(related)).toEqual([expect.stringContaining('Otters hold hands')]);
  expect(injectedOf(related)[0]).not.toContain('Bob');
});

test('a killed worker finds the passages that were injected before, and without a language model they are quoted', async () => {
  const base = await makeBase(stack);
  await add(base.id, { title: 'Refund policy', content: 'Refunds arrive within five working days after approval.' });
  const binding = { knowledge: [{ slug: base.slug, mode: 'inject' }] };
  const agent = await makeAgent(stack, [], { model: 'builtin/extractive', ...binding });
  const slow = await makeAgent(stack, [], binding);
  models.script('slow', { steps: [{ text: 'Done at last.', delay_ms: 3_000 }] });
  const words = 'Within how many working days do refunds arrive? [script:slow]';
  const run = await ask<{ id: string }>(stack, '/runs', { agent_id: slow.id, input: { text: words } });
  await until(async () => promptsWith(words).length > 0);
  await stack.kill('worker-runs');
  await stack.start('worker-runs');

  const quoted = await played(stack, agent.id, 'When do refunds arrive?');
  await until(async () => (await ask<{ status: string }>(stack, `/runs/${run.id}`)).status === 'succeeded');

  expect(JSON.stringify(quoted.frames)).toContain('Refund policy');
  expect(JSON.stringify(quoted.frames.filter(({ type, data }) => type === 'message.completed' && data['role'] === 'assistant'))).toContain(
    'five working days',
  );
  const kept = await select(stack, `select id from messages where run_id = ? and role = 'system'`, [run.id]);
  expect(kept).toHaveLength(1);
  const prompts = promptsWith(words).map(({ messages }) => JSON.stringify(messages));
  expect(prompts.length).toBeGreaterThan(1);
  expect(new Set(prompts).size).toBe(1);
});
