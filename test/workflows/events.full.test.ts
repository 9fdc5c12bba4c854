import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { makeTenant } from '../support/tenant.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent, scripted } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { makeTrigger, matchesOf, publish, runsOf } from './event-world.ts';
import { sqlOn } from './hook-world.ts';

let models: ModelServer;
let stack: Stack;
let agentId: string;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'worker-runs', 'worker-bulk'], modelBaseUrl: models.baseUrl });
  agentId = (await makeAgent(stack, [])).id;
});
afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

const kindOf = () => `t${crypto.randomUUID().slice(0, 8)}.paid`;
const done = scripted({ steps: [{ text: 'Done.' }] });
const closed = (triggerId: string, count: number) =>
  until(async () => {
    const found = await matchesOf(stack, triggerId);
    return found.length === count && found.every(({ outcome }) => outcome !== 'coalescing');
  });
const outcomesOf = async (triggerId: string) => (await matchesOf(stack, triggerId)).map(({ outcome }) => outcome);
const publishAll = async (event_kind: string, ...payloads: readonly object[]) => {
  for (const payload of payloads) await publish(stack, { event_kind, payload });
};

test('an event that is published becomes a run that succeeds, which is an event of the platform with ids alone', async () => {
  const event_kind = kindOf();
  const trigger = await makeTrigger(stack, agentId, { event_kind });

  const eventId = await publish(stack, { event_kind, payload: { text: done } });
  await until(async () => (await runsOf(stack, trigger))[0]?.status === 'succeeded');

  const [run] = await runsOf(stack, trigger);
  const events = await sqlOn(stack)(
    'select event_kind, source, payload, depth, root_event_id, fan_out from events where cause_run_id = ?',
    [run?.id],
  );
  const payload = { run_id: run?.id, agent_id: agentId, root_run_id: run?.id, parent_run_id: null, trigger_id: trigger };
  expect(events).toEqual([{ event_kind: 'run.succeeded', source: 'platform', payload, depth: 1, root_event_id: eventId, fan_out: 'done' }]);
  expect(await sqlOn(stack)('select fan_out from events where id = ?', [eventId])).toEqual([{ fan_out: 'done' }]);
});

test('a ** trigger whose runs publish by their tools, over HTTP, stops at max_depth', async () => {
  const tool = {
    slug: `publish-${crypto.randomUUID().slice(0, 8)}`,
    kind: 'http',
    description: 'Publishes an event.',
    input_schema: { type: 'object', properties: {}, additionalProperties: false },
    config: {
      method: 'POST',
      url: `${stack.url()}/events`,
      body: { mode: 'json', template: { event_kind: 'loop.again' } },
      auth: { type: 'bearer', secret: 'platform_key' },
    },
  };
  const agent = await makeAgent(stack, [tool]);
  const values = { platform_key: stack.tenant.serviceKey.plaintext };
  await stack.request('PUT', `/tools/${agent.toolIds[0]}/secrets`, { body: { values } });
  const text = scripted({ steps: [{ tool_calls: [{ name: tool.slug, arguments: {} }] }, { text: 'Published.' }] });
  const trigger = await makeTrigger(stack, agent.id, { event_kind: '**', max_depth: 3, prompt_template: text });

  const rootId = await publish(stack, { event_kind: 'loop.begin' });
  // Each run is two events: the one that its tool publishes, and its end.
  const isOver = async () => {
    const found = await matchesOf(stack, trigger);
    return (
      found.filter(({ outcome }) => outcome === 'started').length === 7 &&
      found.filter(({ outcome }) => outcome === 'depth_exceeded').length === 8
    );
  };
  await until(isOver).finally(() => stack.request('DELETE', `/event-triggers/${trigger}`));

  const runs = await runsOf(stack, trigger);
  expect(runs.map(({ event_depth: depth }) => depth).toSorted()).toEqual([1, 2, 2, 3, 3, 3, 3]);
  const events = await sqlOn(stack)<{ depth: number; event_kind: string }>(
    'select depth, event_kind from events where root_event_id = ? order by depth, event_kind',
    [rootId],
  );
  expect(events).toHaveLength(15);
  expect(events.filter(({ event_kind }) => event_kind === 'loop.again').map(({ depth }) => depth)).toEqual([1, 2, 2, 3, 3, 3, 3]);
});

test('an event that a run publishes as a client of the platform’s own MCP endpoint goes on with its chain', async () => {
  const values = { value: stack.tenant.serviceKey.plaintext };
  const config = { url: `${stack.url()}/mcp`, auth: { type: 'bearer', secret: 'own_key' } };
  const kit = { slug: `own-${crypto.randomUUID().slice(0, 8)}`, name: 'Own', kind: 'mcp', config };
  const ask = async <T>(method: string, path: string, body?: object) =>
    (await stack.request(method, path, body === undefined ? {} : { body })).body as T;
  await ask('PUT', '/secrets/own_key', values);
  const { id } = await ask<{ id: string }>('POST', '/toolkits', kit);
  const revision = await ask<{ id: string }>('POST', `/mcp/toolkits/${id}/sync`, {});
  const stateOf = async () =>
    (await ask<{ items: { id: string; state: string }[] }>('GET', `/toolkits/${id}/revisions`)).items.find((one) => one.id === revision.id)
      ?.state;
  await until(async () => (await stateOf()) === 'inactive');
  await ask('POST', `/toolkits/${id}/revisions/${revision.id}/activate`, { approve: 'all' });
  const { items } = await ask<{ items: { id: string; slug: string }[] }>('GET', `/tools?toolkit_id=${id}&limit=200`);
  const tool = items.find(({ slug }) => /publish_?event/i.test(slug));
  const agent = await makeAgent(stack, [], { tools: [{ id: tool?.id }] });
  const event_kind = kindOf();
  const call = { name: tool?.slug ?? '', arguments: { event_kind: 'mcp.published' } };
  const text = scripted({ steps: [{ tool_calls: [call] }, { text: 'Published.' }] });
  const trigger = await makeTrigger(stack, agent.id, { event_kind, prompt_template: text });

  const rootId = await publish(stack, { event_kind });
  await until(async () => (await runsOf(stack, trigger))[0]?.status === 'succeeded');

  const found = await sqlOn(stack)("select depth, root_event_id from events where workspace_id = ? and event_kind = 'mcp.published'", [
    stack.tenant.workspaceId,
  ]);
  expect(found).toEqual([{ depth: 1, root_event_id: rootId }]);
});

test('a run that waits is an event once, one that fails another, and one that is cancelled', async () => {
  const question = { slug: `ask-${crypto.randomUUID().slice(0, 8)}`, kind: 'builtin', description: 'Asks.', config: { name: 'ask_user' } };
  const agent = await makeAgent(stack, [question]);
  const asking = scripted({ steps: [{ tool_calls: [{ name: question.slug, arguments: { question: 'Which?' } }] }, { text: 'Thanks.' }] });
  const failing = scripted({ steps: [{ fault: { kind: 'status', status: 400 } }] });
  const start = async (text: string) =>
    ((await stack.request('POST', '/runs', { body: { agent_id: agent.id, input: { text } } })).body as { id: string }).id;
  const kindsOf = async (runId: string) =>
    (await sqlOn(stack)<{ kind: string }>('select event_kind as kind from events where cause_run_id = ? order by id', [runId])).map(
      ({ kind }) => kind,
    );

  const [waiting, failed] = [await start(asking), await start(failing)];
  await until(async () => (await kindsOf(waiting)).length > 0);
  await stack.request('POST', `/runs/${waiting}/cancel`, { body: {} });

  await until(async () => (await kindsOf(waiting)).length > 1 && (await kindsOf(failed)).length > 0);
  expect([await kindsOf(waiting), await kindsOf(failed)]).toEqual([['run.waiting', 'run.cancelled'], ['run.failed']]);
});

test('debounce: events of one key become one run with the data of the last by its own time', async () => {
  const event_kind = kindOf();
  const coalescing = { mode: 'debounce', window_seconds: 2, key_template: '{{ event.payload.key }}', event_time_path: '/at' };
  const trigger = await makeTrigger(stack, agentId, { event_kind, coalescing });

  const second = { key: 'a', text: 'second', at: 200 };
  await publishAll(
    event_kind,
    second,
    { key: 'a', text: 'third', at: 300 },
    { key: 'b', text: 'other', at: 1 },
    { ...second, text: 'first', at: 100 },
  );
  await closed(trigger, 4);

  expect((await runsOf(stack, trigger)).map(({ input }) => input.text).toSorted()).toEqual(['other', 'third']);
  expect(await outcomesOf(trigger)).toEqual(['merged', 'started', 'started', 'merged']);
  const [merged, started, other] = await matchesOf(stack, trigger);
  expect([merged?.run_id, other?.run_id === started?.run_id]).toEqual([started?.run_id, false]);
});

test('batch: a full group is closed before its window is over, with the data of all; throttle: the first starts at once', async () => {
  const [batchKind, throttleKind] = [kindOf(), kindOf()];
  const batch = await makeTrigger(stack, agentId, {
    event_kind: batchKind,
    coalescing: { mode: 'batch', window_seconds: 3_600, max_batch: 3, payload: 'all' },
    prompt_template: '{% for item in items %}{{ item.payload.n }} {% endfor %}of {{ event.payload.n }}',
  });
  const throttle = await makeTrigger(stack, agentId, {
    event_kind: throttleKind,
    coalescing: { mode: 'throttle', window_seconds: 3, payload: 'first' },
  });

  await publishAll(batchKind, { n: 1 }, { n: 2 }, { n: 3 });
  await publishAll(throttleKind, { text: 'at once' });
  await until(async () => (await outcomesOf(throttle)).includes('started'));
  await publishAll(throttleKind, { text: 'first of the rest' }, { text: 'last' });
  await Promise.all([closed(batch, 3), closed(throttle, 3)]);

  const textsOf = async (trigger: string) => (await runsOf(stack, trigger)).map(({ input }) => input.text);
  // Fan-outs of events that come at once may be judged in any order.
  expect((await textsOf(batch)).map((text) => text.split(' ').slice(0, 3).toSorted())).toEqual([['1', '2', '3']]);
  expect((await textsOf(throttle))[0]).toBe('at once');
  expect((await outcomesOf(throttle))[0]).toBe('started');
});

test('equal coalescing keys in two workspaces never meet', async () => {
  const event_kind = kindOf();
  const other = await makeTenant(stack.db, stack.keys, { publicUrl: stack.url() });
  const foreign: Stack = {
    ...stack,
    tenant: other,
    request: (method, path, options) => stack.request(method, path, { credential: other.serviceKey.plaintext, ...options }),
  };
  const coalescing = { mode: 'debounce', window_seconds: 2, key_template: 'one' };
  const [own, ofOther] = [
    await makeTrigger(stack, agentId, { event_kind, coalescing }),
    await makeTrigger(foreign, (await makeAgent(foreign, [])).id, { event_kind, coalescing }),
  ];

  for (const text of ['a', 'b']) {
    await publish(stack, { event_kind, payload: { text: `own ${text}` }, dedupe_key: text });
    await publish(foreign, { event_kind, payload: { text: `other ${text}` }, dedupe_key: text });
  }
  await Promise.all([closed(own, 2), closed(ofOther, 2)]);

  expect((await runsOf(stack, own)).map(({ input }) => input.text)).toEqual([expect.stringMatching(/^own /)]);
  expect((await runsOf(stack, ofOther)).map(({ input }) => input.text)).toEqual([expect.stringMatching(/^other /)]);
});

test('a group whose run can not be started fails with the reason; what waits of a deleted trigger is dropped', async () => {
  const event_kind = kindOf();
  const failing = await makeTrigger(stack, agentId, {
    event_kind,
    coalescing: { mode: 'debounce', window_seconds: 1 },
    subject_template: { kind: 'user', id: '{{ event.payload.user }}' },
  });
  const deleted = await makeTrigger(stack, agentId, { event_kind, coalescing: { mode: 'batch', window_seconds: 3_600 } });

  await publishAll(event_kind, { text: 'Hello', user: 'nobody' });
  await Promise.all([closed(failing, 1), until(async () => (await outcomesOf(deleted)).includes('coalescing'))]);
  await stack.request('DELETE', `/event-triggers/${deleted}`);

  expect(await matchesOf(stack, failing)).toMatchObject([{ outcome: 'failed', error_code: 'subject_unknown', run_id: null }]);
  expect([await outcomesOf(deleted), await runsOf(stack, deleted)]).toEqual([['dropped'], []]);
});

test('upkeep wakes a group and a fan-out whose workflows were lost', async () => {
  const event_kind = kindOf();
  const trigger = await makeTrigger(stack, agentId, { event_kind, coalescing: { mode: 'batch', window_seconds: 3_600 } });
  const eventId = await publish(stack, { event_kind, payload: { text: 'Hello' } });
  const handle = stack.temporal.client.workflow.getHandle(workflowIds.hook(trigger, createHash('sha256').update('').digest('hex')));
  await until(() =>
    handle.terminate('a test').then(
      () => true,
      () => false,
    ),
  );
  // As if no process had ever sent it.
  const lost = newId();
  const sql = sqlOn(stack);
  await sql("update event_matches set created_at = created_at - interval '2 hours' where trigger_id = ?", [trigger]);
  const plain = await makeTrigger(stack, agentId, { event_kind: 'lost.event' });
  await sql(
    `insert into events (id, organization_id, workspace_id, event_kind, source, payload, root_event_id, occurred_at, created_at)
     select ?, organization_id, workspace_id, 'lost.event', 'api', '{"text":"Found"}', ?, now(), now() - interval '11 minutes' from events where id = ?`,
    [lost, lost, eventId],
  );
  await sql(
    `insert into outbox (id, organization_id, workspace_id, kind, dedupe_key, target, payload, not_before, sent_at, created_at)
     select ?, organization_id, workspace_id, kind, 'event:' || ?, 'event:' || ?, replace(payload::text, ?, ?)::jsonb, now(), now() - interval '11 minutes', now() - interval '11 minutes'
       from outbox where dedupe_key = 'event:' || ?`,
    [newId(), lost, lost, eventId, lost, eventId],
  );

  await stack.temporal.client.workflow.execute('tendTriggers', { workflowId: `test:${newId()}`, taskQueue: 'bulk' });
  await stack.temporal.client.workflow.execute('reconcile', { workflowId: `test:${newId()}`, taskQueue: 'runs' });
  await Promise.all([closed(trigger, 1), closed(plain, 1)]);

  expect((await runsOf(stack, trigger)).map(({ input }) => input.text)).toEqual(['Hello']);
  expect((await runsOf(stack, plain)).map(({ input }) => input.text)).toEqual(['Found']);
});
