import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent, scripted } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { makeTrigger, matchesOf, publish, runsOf } from '../workflows/event-world.ts';
import { sqlOn } from '../workflows/hook-world.ts';
import { matrixTest, oneOfEach } from './whole.ts';

const events = 12;
const triggers = 3;
let models: ModelServer;
let stack: Stack;
let agentId: string;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'api-2', 'worker-runs', 'worker-runs-2'], modelBaseUrl: models.baseUrl });
  agentId = (await makeAgent(stack, [])).id;
});
afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

const matchCount = async (triggerIds: readonly string[]) => {
  const sql = 'select count(*)::int as n from event_matches where trigger_id = any (?::uuid[])';
  return (await sqlOn(stack)<{ n: number }>(sql, [[...triggerIds]]))[0]?.n ?? 0;
};

async function makeTriggers(event_kind: string): Promise<string[]> {
  return Promise.all(Array.from({ length: triggers }, () => makeTrigger(stack, agentId, { event_kind })));
}

/** All publishers, each of which insists, by turns at the two processes. */
function publishAll(event_kind: string): Promise<string[]> {
  return Promise.all(
    Array.from({ length: events }, (_, n) => {
      const payload = { text: scripted({ steps: [{ text: `Done ${n}.` }] }) };
      return publish(stack, { event_kind, dedupe_key: `${event_kind}-${n}`, payload }, n % 2 === 0 ? 'api' : 'api-2');
    }),
  );
}

/** Exactly one run an event and trigger, which has ended. */
async function checkCauses(triggerIds: readonly string[], eventIds: readonly string[]): Promise<void> {
  expect(new Set(eventIds).size).toBe(events);
  await until(async () => {
    const runs = (await Promise.all(triggerIds.map((id) => runsOf(stack, id)))).flat();
    return runs.length >= events * triggers && runs.every(({ status }) => status === 'succeeded');
  });
  const pairs = await sqlOn(stack)<{ outcome: string; runs: number }>(
    `select m.outcome, (select count(*)::int from runs r where r.trigger_id = m.trigger_id and r.root_event_id = m.event_id) as runs
       from event_matches m where m.trigger_id = any (?::uuid[])`,
    [[...triggerIds]],
  );
  expect(pairs).toEqual(Array.from({ length: events * triggers }, () => ({ outcome: 'started', runs: 1 })));
  const done = 'select distinct fan_out from events where id = any (?::uuid[])';
  await until(async () => JSON.stringify(await sqlOn(stack)(done, [[...eventIds]])) === '[{"fan_out":"done"}]');
}

test('an API and a worker killed while events are published and fanned out: one run an event and trigger', async () => {
  const triggerIds = await makeTriggers('killed.event');

  const published = publishAll('killed.event');
  await until(async () => (await matchCount(triggerIds)) > 0);
  await Promise.all([stack.kill('api'), stack.kill('worker-runs')]);
  await Promise.all([stack.start('api'), stack.start('worker-runs')]);
  await until(async () => (await matchCount(triggerIds)) > triggers);
  await stack.kill('worker-runs-2');
  await stack.start('worker-runs-2');

  await checkCauses(triggerIds, await published);
});

matrixTest('an API and a worker frozen in the middle, until others have done their work, add none when they go on', async () => {
  const triggerIds = await makeTriggers('frozen.event');

  const published = publishAll('frozen.event');
  await until(async () => (await matchCount(triggerIds)) > 0);
  await Promise.all([stack.kill('worker-runs', 'SIGSTOP'), stack.kill('api-2', 'SIGSTOP')]);
  // What they hold is given to others when its time is over.
  const ofOneApi = events / 2;
  await until(async () => (await matchCount(triggerIds)) >= (ofOneApi - 1) * triggers).finally(() =>
    Promise.all([stack.kill('worker-runs', 'SIGCONT'), stack.kill('api-2', 'SIGCONT')]),
  );

  await checkCauses(triggerIds, await published);
});

const coalesced = 40;
const modes = [
  { mode: 'debounce', window_seconds: 2 },
  { mode: 'throttle', window_seconds: 2 },
  { mode: 'batch', window_seconds: 2, max_batch: 10 },
];

test.each(oneOfEach(modes, () => 'mode'))(
  'events of one key, $mode: the workers killed midway, each ends started or merged in one run of its group',
  async (coalescing) => {
    const event_kind = `${coalescing.mode}.event`;
    const triggerId = await makeTrigger(stack, agentId, { event_kind, coalescing });
    const payload = { text: scripted({ steps: [{ text: 'Done.' }] }) };

    const published = Promise.all(
      Array.from({ length: coalesced }, (_, n) =>
        publish(stack, { event_kind, dedupe_key: `${event_kind}-${n}`, payload }, n % 2 === 0 ? 'api' : 'api-2'),
      ),
    );
    await until(async () => (await matchCount([triggerId])) > coalesced / 4);
    await Promise.all([stack.kill('worker-runs'), stack.kill('worker-runs-2')]);
    await Promise.all([stack.start('worker-runs'), stack.start('worker-runs-2')]);
    await published;
    const isOver = async () => {
      const found = await matchesOf(stack, triggerId);
      return found.length === coalesced && found.every(({ outcome }) => outcome === 'started' || outcome === 'merged');
    };
    await until(isOver);

    const found = await matchesOf(stack, triggerId);
    const runs = await runsOf(stack, triggerId);
    expect(new Set(found.map(({ run_id }) => run_id))).toEqual(new Set(runs.map(({ id }) => id)));
    for (const { id } of runs) {
      const ofRun = found.filter(({ run_id }) => run_id === id);
      expect([ofRun.filter(({ outcome }) => outcome === 'started').length, new Set(ofRun.map(({ group_id }) => group_id)).size]).toEqual([
        1, 1,
      ]);
    }
  },
);
