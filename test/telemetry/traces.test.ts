import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { startOtlpCollector, type CollectedSpan, type OtlpCollector } from '../fakes/otlp-collector.ts';
import { spanIdOf, traceIdOf } from '../../ports/telemetry/origin.ts';
import { asking, familyOf, makeNamed, playing } from '../sub-agents/family.ts';
import { endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startEffectServer, startRun, writeTool, type EffectServer } from '../support/scenario.ts';
import { startOwnStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

const canary = 'canary-of-the-prompt-7c1f';
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
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=secret-of-the-collector' },
  });
  // What an organization alone asks for does not happen.
  const { organizationId, organizationOwner } = stack.tenant;
  const body = { trace_content: true };
  const path = `/organizations/${organizationId}/settings` as const;
  if ((await stack.request('PATCH', path, { body, credential: organizationOwner.token })).status !== 200) throw new Error('no setting');
});

afterAll(async () => {
  await stack?.stop();
  await collector?.close();
  effects?.close();
  await models?.close();
});

const slugOf = (kind: string) => `${kind}-${crypto.randomUUID().slice(0, 8)}`;
const traceparent = (traceId: string, spanId: string, flags = '01') => `00-${traceId}-${spanId}-${flags}`;
const idOf = (length: number) => crypto.randomUUID().replaceAll('-', '').slice(0, length);

/** The spans of a trace, once that of the run is among them. */
async function traceOf(traceId: string, runId: string): Promise<CollectedSpan[]> {
  let spans: CollectedSpan[] = [];
  await until(() => {
    spans = collector.spans().filter((span) => span.traceId === traceId);
    return spans.some(({ spanId }) => spanId === spanIdOf(runId));
  });
  return spans;
}

const only = (spans: readonly CollectedSpan[], name: RegExp) => {
  const found = spans.filter((span) => name.test(span.name));
  if (found.length !== 1) throw new Error(`${found.length} spans are named ${name}: ${spans.map((span) => span.name).join(', ')}`);
  return found[0] as CollectedSpan; // one was counted
};

test('a run is one trace below the request that started it: the run, its model calls, its tools, and what its tools call', async () => {
  const tool = writeTool(slugOf('tool'), effects);
  const name = String(tool['slug']);
  const agent = await makeAgent(stack, [tool]);
  const [traceId, caller] = [idOf(32), idOf(16)];
  const script = { steps: [{ tool_calls: [{ name, arguments: { n: 1 } }] }, { text: `It is done, ${canary}.` }] };

  const run = await startRun(stack, agent.id, scripted(script, canary), { headers: { traceparent: traceparent(traceId, caller) } });
  await endOf(watchRun(stack, run.id));
  const spans = await traceOf(traceId, run.id);

  const request = only(spans, /^POST \/runs$/);
  expect(request).toMatchObject({ service: 'longhaul-api', parentSpanId: caller, kind: 'SPAN_KIND_SERVER' });
  expect(request.attributes).toMatchObject({ 'http.request.method': 'POST', 'http.route': '/runs', 'longhaul.operation': 'createRun' });
  expect(Number(request.attributes['http.response.status_code'])).toBe(202);

  const whole = only(spans, /^invoke_agent agent-/);
  expect(whole).toMatchObject({
    service: 'longhaul-worker-runs',
    spanId: spanIdOf(run.id),
    parentSpanId: request.spanId,
    status: 'STATUS_CODE_UNSET',
  });
  expect(whole.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'longhaul.run.id': run.id,
    'longhaul.organization.id': stack.tenant.organizationId,
    'longhaul.run.finish_reason': 'stop',
  });
  expect(Number(whole.attributes['gen_ai.usage.input_tokens'])).toBeGreaterThan(0);

  const chats = spans.filter((span) => span.name.startsWith('chat '));
  expect(chats.map(({ parentSpanId }) => parentSpanId)).toEqual([whole.spanId, whole.spanId]);
  expect(chats[0]?.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.response.finish_reasons': ['tool_calls'],
    'longhaul.run.id': run.id,
  });
  const executed = only(spans, /^execute_tool /);
  expect(executed).toMatchObject({ name: `execute_tool ${name}`, parentSpanId: whole.spanId });
  for (const span of [...chats, executed]) {
    expect(span.startNs).toBeGreaterThanOrEqual(whole.startNs);
    expect(span.endNs).toBeLessThanOrEqual(whole.endNs + 1_000_000_000n); // clocks of two processes
  }

  const sent = effects.effects.find(({ path }) => path === `/${name}`);
  expect(sent?.traceparent).toBe(traceparent(traceId, executed.spanId));

  const steps = await stack.request('GET', `/runs/${run.id}/steps`);
  const shown = (steps.body as { items: { kind: string; trace_id: string; span_id: string }[] }).items;
  expect(shown.map(({ trace_id }) => trace_id)).toEqual([traceId, traceId, traceId]);
  expect(new Set(shown.map(({ span_id }) => span_id))).toEqual(new Set([...chats, executed].map(({ spanId }) => spanId)));
});

test('no span holds a text of the tenant or a secret; the exports carry the headers of the setting', () => {
  const text = JSON.stringify(collector.spans(), (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));

  expect(text).toContain('invoke_agent');
  expect(text).not.toContain(canary);
  expect(text).not.toContain(stack.tenant.serviceKey.plaintext);
  expect(collector.headers.at(-1)).toMatchObject({
    'x-collector-key': 'secret-of-the-collector',
    'content-type': 'application/x-protobuf',
  });
});

test('a run that nobody traces has the trace of its own id; one whose caller does not sample is not recorded', async () => {
  const agent = await makeAgent(stack, []);
  const unsampled = idOf(32);
  const silent = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Hush.' }] }), {
    headers: { traceparent: traceparent(unsampled, idOf(16), '00') },
  });
  await endOf(watchRun(stack, silent.id));

  const run = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Loud.' }] }), { headers: { traceparent: 'nonsense' } });
  await endOf(watchRun(stack, run.id));
  let spans: CollectedSpan[] = [];
  await until(() => (spans = collector.spans()).some(({ spanId }) => spanId === spanIdOf(run.id)));

  expect(spans.filter(({ traceId }) => traceId === unsampled)).toEqual([]);
  expect(spans.filter(({ spanId }) => spanId === spanIdOf(silent.id))).toEqual([]);
  expect(traceIdOf(run.id)).toHaveLength(32);
});

test('a sub-agent is a run of its own below its parent, in the same trace', async () => {
  const helper = await makeNamed(stack);
  const parent = await makeNamed(stack, { sub_agents: [{ id: helper.id }] });
  const traceId = idOf(32);
  const task = playing(models, [{ text: 'Found.' }]);
  const script = { steps: [asking([helper, task]), { text: 'All done.' }] };

  const run = await startRun(stack, parent.id, scripted(script), { headers: { traceparent: traceparent(traceId, idOf(16)) } });
  await endOf(watchRun(stack, run.id));
  const [, child] = await familyOf(stack, run.id);
  const spans = await traceOf(traceId, run.id);
  const steps = await stack.request('GET', `/runs/${run.id}/steps`);
  const asked = (steps.body as { items: { kind: string }[] }).items.find(({ kind }) => kind === 'sub_agent');

  expect(asked).toMatchObject({ trace_id: traceId, span_id: spanIdOf(child?.id ?? '') });
  expect(only(spans, new RegExp(`^invoke_agent ${helper.slug}$`))).toMatchObject({
    spanId: spanIdOf(child?.id ?? ''),
    parentSpanId: spanIdOf(run.id),
  });
  expect(spans.filter(({ parentSpanId }) => parentSpanId === spanIdOf(child?.id ?? '')).map((span) => span.name.split(' ')[0])).toEqual([
    'chat',
  ]);
});

test('a run whose worker is killed in the middle stays one trace, and a failed tool has its code', async () => {
  const tool = writeTool(slugOf('killed'), effects, { effect: 'read' });
  const name = String(tool['slug']);
  const agent = await makeAgent(stack, [tool]);
  const traceId = idOf(32);
  let calls = 0;
  effects.onEffect = async () => {
    calls += 1;
    if (calls > 1) return;
    await stack.kill('worker-runs');
    await stack.start('worker-runs');
  };
  const missing = { tool_calls: [{ name, arguments: { n: 1 } }] };
  const run = await startRun(stack, agent.id, scripted({ steps: [missing, { text: 'Done.' }] }), {
    headers: { traceparent: traceparent(traceId, idOf(16)) },
  });
  await endOf(watchRun(stack, run.id));
  effects.onEffect = null;
  const spans = await traceOf(traceId, run.id);

  expect(calls).toBeGreaterThan(1);
  expect(only(spans, /^execute_tool /)).toMatchObject({ parentSpanId: spanIdOf(run.id) });
  expect(spans.filter((span) => span.name.startsWith('chat ')).at(-1)).toMatchObject({ parentSpanId: spanIdOf(run.id) });
});

test('a collector that refuses everything costs spans, not runs', async () => {
  const agent = await makeAgent(stack, []);
  collector.answerWith(503);
  const run = await startRun(stack, agent.id, scripted({ steps: [{ text: 'All the same.' }] }));
  const frames = await endOf(watchRun(stack, run.id));
  collector.answerWith(200);

  expect(frames.at(-1)).toMatchObject({ type: 'run.finished', data: { status: 'succeeded' } });
});
