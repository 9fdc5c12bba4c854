import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { toldResults } from '../activities/model/told-results.ts';
import { pendingOf, resolve, untilRun } from '../support/approvals.ts';
import { endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startRun, writeTool, startScenario, type Scenario } from '../support/scenario.ts';

let scenario: Scenario;
let stack: Scenario['stack'];
beforeAll(async () => {
  scenario = await startScenario();
  ({ stack } = scenario);
});
afterAll(() => scenario?.stop());

const asks = { approvals: { write: 'ask' } };
const call = (name: string, n: unknown = 1) => ({ tool_calls: [{ name, arguments: { n } }] });
const decide = async (runId: string, resolution: object) => {
  const [question] = await pendingOf(stack, runId);
  await resolve(stack, runId, [{ approval_id: question?.id, ...resolution }]);
};
const answerAs = async (runId: string, result: object) => {
  await untilRun(stack, runId, (now) => now.waiting_on === 'client_tool');
  const { body }: { body: { items: { tool_call_ids: string[] }[] } } = await stack.request('GET', `/runs/${runId}/messages`);
  const tool_call_id = body.items.flatMap((message) => message.tool_call_ids)[0];
  await stack.request('POST', `/runs/${runId}/input`, { body: { kind: 'tool_results', results: [{ tool_call_id, ...result }] } });
};

interface Ending {
  readonly tool?: Record<string, unknown>;
  readonly document?: Record<string, unknown>;
  /** Names of the calls, one a step; the tool's unless given. */
  readonly steps?: (slug: string) => object[];
  readonly act?: (runId: string) => Promise<void>;
}
const question = { kind: 'builtin', config: { name: 'ask_user' }, description: 'Asks a person.' };
const asking = (slug: string) => [{ tool_calls: [{ name: slug, arguments: { question: 'Which colour?' } }] }];

/** How each end comes about; the last result of its run is the one that is looked at. */
const endings: Record<string, Ending> = {
  'a person who responded': { document: asks, act: (id) => decide(id, { decision: 'respond', response: 'Done by hand.' }) },
  'an answer to ask_user': { tool: question, steps: asking, act: (id) => decide(id, { decision: 'respond', response: 'blue' }) },
  'the client': { tool: { client_owned: true }, act: (id) => answerAs(id, { status: 'succeeded', output: 'by the client' }) },
  'a person who rejected, with a comment': { document: asks, act: (id) => decide(id, { decision: 'reject', comment: 'Not on a Friday.' }) },
  'a person who rejected': { document: asks, act: (id) => decide(id, { decision: 'reject' }) },
  'a person who rejected ask_user': { tool: question, steps: asking, act: (id) => decide(id, { decision: 'reject', comment: 'Ask Ann.' }) },
  'unasked, like a call that was rejected': {
    document: asks,
    steps: (slug) => [call(slug), call(slug)],
    act: (id) => decide(id, { decision: 'reject', comment: 'No.' }),
  },
  'nobody, until the question expired': { document: { ...asks, limits: { approval_ttl_s: 30, on_expiry: 'deny' } } },
  'the client, with an output and a message': {
    tool: { client_owned: true },
    act: (id) => answerAs(id, { status: 'failed', output: { door: 'locked' }, message: 'The door is locked.' }),
  },
  'the client, with a message': {
    tool: { client_owned: true },
    act: (id) => answerAs(id, { status: 'failed', message: 'No hands free.' }),
  },
  'the tool or the client, silent': { tool: { client_owned: true, timeout_s: 1 } },
  'a call that names no tool': { steps: () => [call(' ')] },
  'a tool that there is not': { steps: () => [call('nothing-like-it')] },
};

interface Begun {
  readonly source: string;
  readonly slug: string;
  readonly runId: string;
}

async function begin(source: string): Promise<Begun> {
  const { tool = {}, document = {}, steps = (name: string) => [call(name)] } = endings[source] ?? {};
  const slug = `told-${crypto.randomUUID().slice(0, 8)}`;
  const base = tool['kind'] === 'builtin' ? { slug } : writeTool(slug, scenario.effects);
  const agent = await makeAgent(stack, [{ ...base, ...tool }], document);
  const run = await startRun(stack, agent.id, scripted({ steps: [...steps(slug), { text: 'So be it.' }] as never }, slug)); // made of the script's own steps
  return { source, slug, runId: run.id };
}

async function readAfter({ source, slug, runId }: Begun): Promise<string> {
  await endings[source]?.act?.(runId);
  await endOf(watchRun(stack, runId));
  const prompt = scenario.models.calls().findLast((one) => JSON.stringify(one.body).includes(slug))?.body['messages'];
  const results = (prompt as { role: string; content: string }[]).filter(({ role }) => role === 'tool'); // of our own product
  return results.at(-1)?.content ?? '';
}

test('the model of a run reads of each end of a call what the table says', async () => {
  const sources = Object.keys(endings);
  const begun: Begun[] = [];
  for (const source of sources) begun.push(await begin(source)); // one by one, so that no crowd of requests is refused

  const read = await Promise.all(begun.map(readAfter));

  const expected = sources.map((source) => toldResults.find((told) => told.source === source)?.reads);
  const given = read.map((content, at) => (typeof expected[at] === 'string' ? content : (JSON.parse(content) as unknown))); // JSON where the table has none but texts
  expect(Object.fromEntries(sources.map((source, at) => [source, given[at]]))).toEqual(
    Object.fromEntries(sources.map((source, at) => [source, expected[at]])),
  );
});
