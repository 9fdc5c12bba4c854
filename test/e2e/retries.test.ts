import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import type { ScriptStep } from '../fakes/model-server.ts';
import { checkRun, endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startRun, writeTool, startScenario, type Scenario } from '../support/scenario.ts';

let scenario: Scenario;
let models: Scenario['models'];
let effects: Scenario['effects'];
let stack: Scenario['stack'];

beforeAll(async () => {
  scenario = await startScenario();
  ({ models, effects, stack } = scenario);
});

afterAll(() => scenario?.stop());

interface PromptMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[];
  readonly tool_call_id?: string;
}

/** The prompt of the newest model call whose text holds these words. */
function promptWith(words: string): readonly PromptMessage[] {
  const found = models.calls().findLast((one) => JSON.stringify(one.body).includes(words));
  return ((found?.body['messages'] ?? []) as PromptMessage[]).filter(({ role }) => role !== 'system'); // the body of our own product
}

async function ended(runId: string): Promise<string> {
  const frames = await endOf(watchRun(stack, runId));
  expect((await checkRun(stack, runId, { seen: [frames] })).faults).toEqual([]);
  return runId;
}

const play = async (agentId: string, steps: readonly ScriptStep[], words: string, sessionKey: string): Promise<string> =>
  ended((await startRun(stack, agentId, scripted({ steps }, words), { sessionKey })).id);

async function again(runId: string, body: object): Promise<string> {
  const answer: { status: number; body: { id: string } } = await stack.request('POST', `/runs/${runId}/retry`, { body });
  expect(answer.status).toBe(202);
  return ended(answer.body.id);
}

const messagesOf = async (runId: string, query = '') =>
  (
    (await stack.request('GET', `/runs/${runId}/messages${query}`)).body as {
      items: { id: string; role: string; state: string; content: { text?: string }[] }[];
    }
  ).items;

test('a retry is asked without the turn that it replaces, which is discarded when it begins', async () => {
  const agent = await makeAgent(stack, []);
  const session = crypto.randomUUID();
  const [first, second] = [`first-${session}`, `second-${session}`];
  await play(agent.id, [{ text: 'One.' }], first, session);
  const old = await play(agent.id, [{ text: `Wrong ${session}.` }], second, session);

  const retried = await again(old, {});

  const prompt = promptWith(second);
  expect(prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(JSON.stringify(prompt)).toContain(first);
  expect(prompt[1]?.content).toBe('One.');
  expect(await messagesOf(old)).toEqual([]);
  expect((await messagesOf(old, '?include_discarded=true')).map(({ role, state }) => [role, state])).toEqual([
    ['user', 'discarded'],
    ['assistant', 'discarded'],
  ]);
  expect((await messagesOf(retried, '?scope=conversation')).map(({ role, state }) => [role, state])).toEqual([
    ['user', 'committed'],
    ['assistant', 'committed'],
    ['user', 'committed'],
    ['assistant', 'committed'],
  ]);
  const { body }: { body: { status: string; output: { text: string } } } = await stack.request('GET', `/runs/${old}`);
  expect(body).toMatchObject({ status: 'succeeded', output: { text: `Wrong ${session}.` } });
});

test('a fork knows the calls of its origin, with a result each, also in its second turn and after the origin is purged', async () => {
  const tool = writeTool(`fork-${crypto.randomUUID().slice(0, 8)}`, effects);
  const agent = await makeAgent(stack, [tool]);
  const session = crypto.randomUUID();
  const call = { name: String(tool['slug']), arguments: { n: 1 } };
  const origin = await play(agent.id, [{ text: 'Let me see.', tool_calls: [call] }, { text: 'Done.' }], `origin-${session}`, session);
  const [, calling, result] = await messagesOf(origin);

  const kept = await again(origin, {
    fork_at_message_id: result?.id,
    input: { text: scripted({ steps: [{ text: 'Forked.' }] }, `kept-${session}`) },
    session_key: `kept-${session}`,
  });
  const prompt = promptWith(`kept-${session}`);
  await again(origin, { fork_at_message_id: calling?.id, input: { text: scripted({ steps: [{ text: 'Cut.' }] }, `cut-${session}`) } });
  const cut = promptWith(`cut-${session}`);
  await stack.request('DELETE', `/runs/${origin}`);
  await play(agent.id, [{ text: 'Later.' }], `later-${session}`, `kept-${session}`);
  const later = promptWith(`later-${session}`);

  expect(prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
  expect(prompt[1]?.tool_calls?.map((one) => one.function.name)).toEqual([tool['slug']]);
  expect(prompt[2]?.tool_call_id).toBe(prompt[1]?.tool_calls?.[0]?.id);
  expect(JSON.stringify(prompt[2]?.content)).toContain('done');
  // Forked between call and result: the call is closed.
  expect(cut.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
  expect(JSON.stringify(cut[2]?.content)).toContain('cancelled');
  expect(later.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user']);
  expect(later[1]?.tool_calls).toBeUndefined();
  expect(JSON.stringify(later)).toContain('Let me see.');
  const { body }: { body: { output: { text: string }; steps: number } } = await stack.request('GET', `/runs/${kept}`);
  expect(body).toMatchObject({ output: { text: 'Forked.' }, steps: 1 });
  expect(effects.effects).toHaveLength(1);
});

test('a fork that ends before it has said anything has no output of its origin', async () => {
  const agent = await makeAgent(stack, []);
  const session = crypto.randomUUID();
  const origin = await play(agent.id, [{ text: 'Said before.' }], `silent-${session}`, session);
  const [, answered] = await messagesOf(origin);

  const fork = await again(origin, {
    fork_at_message_id: answered?.id,
    input: { text: scripted({ steps: [{ fault: { kind: 'status', status: 400 } }] }, `fault-${session}`) },
  });

  const { body }: { body: { status: string; output: unknown } } = await stack.request('GET', `/runs/${fork}`);
  expect(body).toMatchObject({ status: 'failed', output: null });
  const ledger = await sweep(stack.db, (em) => rows(em, 'select 1 from messages where run_id = ? and step is not null', [fork]));
  expect(ledger).toEqual([]);
});
