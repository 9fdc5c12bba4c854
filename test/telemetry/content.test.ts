import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { contentText, maxContentChars } from '../../activities/support/trace-content.ts';
import { contentAttribute } from '../../ports/telemetry/conventions.ts';
import { spanIdOf } from '../../ports/telemetry/origin.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { startOtlpCollector, type CollectedSpan, type OtlpCollector } from '../fakes/otlp-collector.ts';
import { endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startEffectServer, startRun, writeTool, type EffectServer } from '../support/scenario.ts';
import { startOwnStack, type Stack } from '../support/stack.ts';
import { makeTenant } from '../support/tenant.ts';
import { until } from '../support/temporal.ts';

let models: ModelServer;
let effects: EffectServer;
let collector: OtlpCollector;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  effects = await startEffectServer();
  collector = await startOtlpCollector();
  stack = await startOwnStack({
    processes: ['api', 'worker-runs'],
    modelBaseUrl: models.baseUrl,
    egressPorts: [effects.port],
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' },
  });
});

afterAll(async () => {
  await stack?.stop();
  await collector?.close();
  effects?.close();
  await models?.close();
});

const wantContent = async (of: Stack, isWanted: boolean) => {
  const { organizationId, organizationOwner } = of.tenant;
  const body = { trace_content: isWanted };
  const answer = await of.request('PATCH', `/organizations/${organizationId}/settings`, { body, credential: organizationOwner.token });
  if (answer.status !== 200) throw new Error(`settings: ${answer.status} ${JSON.stringify(answer.body)}`);
};

/** The spans of a run that belong to its calls, in their order, once the run's own has arrived. */
async function callsOf(runId: string): Promise<CollectedSpan[]> {
  let spans: CollectedSpan[] = [];
  await until(() => (spans = collector.spans()).some(({ spanId }) => spanId === spanIdOf(runId)));
  return spans.filter(({ parentSpanId }) => parentSpanId === spanIdOf(runId)).toSorted((a, b) => (a.startNs < b.startNs ? -1 : 1));
}

/** The same deployment, for another organization. */
async function beside(first: Stack): Promise<Stack> {
  const egressAllowlist = [{ host: '127.0.0.1', port: effects.port, allow_http: true }];
  const tenant = await makeTenant(first.db, first.keys, { egressAllowlist });
  const request: Stack['request'] = (method, path, options = {}) =>
    first.request(method, path, { ...options, credential: options.credential ?? tenant.serviceKey.plaintext });
  return { ...first, tenant, request };
}

/** A run of two model calls with a tool between them. */
async function runIn(of: Stack, words: string, args: object = { n: 1 }): Promise<CollectedSpan[]> {
  const tool = writeTool(`tool-${crypto.randomUUID().slice(0, 8)}`, effects, { input_schema: { type: 'object' } });
  const agent = await makeAgent(of, [tool], { instructions: `Do what the script says. Instructions of ${words}.` });
  const script = { steps: [{ tool_calls: [{ name: String(tool['slug']), arguments: args }] }, { text: `Answer of ${words}.` }] };
  const run = await startRun(of, agent.id, scripted(script, `Question of ${words}.`));
  await endOf(watchRun(of, run.id));
  return callsOf(run.id);
}

const textOf = (span: CollectedSpan | undefined, name: keyof typeof contentAttribute) =>
  String(span?.attributes[contentAttribute[name]] ?? '');
const contentsOf = (spans: readonly CollectedSpan[]) =>
  spans.map(({ attributes }) => Object.values(contentAttribute).filter((name) => name in attributes));

test('with both settings, spans hold what the model was asked and answered, and what the tool was given and gave', async () => {
  await wantContent(stack, true);
  effects.answer = { password: 'swordfish', note: 'token ghp_0123456789abcdefghij0123456789abcdefgh' };

  const [asked, executed, answered] = await runIn(stack, 'both', { n: 1, api_key: 'opensesame', comment: 'x'.repeat(20_000) });

  effects.answer = {};
  expect(JSON.parse(textOf(asked, 'systemInstructions'))[0]).toMatchObject({
    type: 'text',
    content: expect.stringContaining('Instructions of both.'),
  });
  expect(JSON.parse(textOf(asked, 'inputMessages')).at(-1)).toMatchObject({
    role: 'user',
    parts: [{ type: 'text', content: expect.stringContaining('Question of both.') }],
  });
  expect(JSON.parse(textOf(asked, 'outputMessages'))).toMatchObject([
    { role: 'assistant', parts: [{ type: 'tool_call', arguments: { n: 1, api_key: '[redacted]' } }], finish_reason: 'tool_calls' },
  ]);
  expect(JSON.parse(textOf(executed, 'toolArguments'))).toMatchObject({
    n: 1,
    api_key: '[redacted]',
    comment: expect.stringMatching(/… \[20000 characters\]$/),
  });
  expect(JSON.parse(textOf(executed, 'toolResult'))).toMatchObject({ done: 1, password: '[redacted]', note: 'token [redacted]' });
  expect(JSON.parse(textOf(answered, 'inputMessages')).at(-1)).toMatchObject({ role: 'tool', parts: [{ type: 'tool_call_response' }] });
  expect(JSON.parse(textOf(answered, 'outputMessages'))[0].parts).toEqual([{ type: 'text', content: 'Answer of both.' }]);
  for (const span of [asked, executed, answered])
    for (const value of Object.values(span?.attributes ?? {})) {
      expect(String(value).length).toBeLessThanOrEqual(maxContentChars);
      expect(String(value)).not.toMatch(/swordfish|ghp_0/);
    }
});

test('an organization that does not ask has no texts in its spans, beside one in the same worker that does', async () => {
  const other = await beside(stack);
  await wantContent(stack, true);

  const [silent, told] = await Promise.all([runIn(other, 'the silent'), runIn(stack, 'the other')]);

  expect(contentsOf(silent)).toEqual([[], [], []]);
  expect(contentsOf(told).map(({ length }) => length)).toEqual([3, 2, 3]);
  const silentText = JSON.stringify(silent, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  expect(silentText).not.toContain('the silent');
});

test('what an organization switches off in the middle of a call does not leave any more', async () => {
  await wantContent(stack, true);
  effects.onEffect = () => wantContent(stack, false);

  const spans = await runIn(stack, 'the middle');

  effects.onEffect = null;
  expect(contentsOf(spans).map(({ length }) => length)).toEqual([3, 0, 0]);
});

test('a text is cut, a conversation keeps its newest messages, and the whole stays JSON within the bound', () => {
  const messages = Array.from({ length: 500 }, (_, n) => ({
    role: 'user',
    parts: [{ type: 'text', content: `${n} ${'é'.repeat(2_000)}` }],
  }));
  const kept = JSON.parse(contentText(messages));

  expect(contentText(messages).length).toBeLessThanOrEqual(maxContentChars);
  expect(kept.at(-1).parts[0].content).toMatch(/^499 é+… \[2004 characters\]$/);
  expect(kept.length).toBeLessThan(messages.length);

  const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`member ${n}`, '"'.repeat(50)]));
  expect(typeof JSON.parse(contentText(wide))).toBe('string');
  expect(contentText(wide).length).toBeLessThanOrEqual(maxContentChars);
  expect(contentText(undefined)).toBe('null');
  expect(contentText('short')).toBe('"short"');
});

test('secrets are blotted out by the name of their member and by their shape, also across the cut', () => {
  const token = 'ghp_0123456789abcdefghij0123456789abcdefgh';

  expect(contentText({ a: { Authorization: 'Basic x', list: [{ Password: 'p', token: null }] }, note: `see ${token}` })).toBe(
    '{"a":{"Authorization":"[redacted]","list":[{"Password":"[redacted]","token":null}]},"note":"see [redacted]"}',
  );
  expect(contentText(`${'x '.repeat(2_045)}${token}${' y'.repeat(9_000)}`)).not.toContain('ghp_01');
});
