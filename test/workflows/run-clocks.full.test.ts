import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runOf } from '../support/approvals.ts';
import { createClocks } from '../support/clocks.ts';
import { endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startEffectServer, writeTool, type EffectServer } from '../support/scenario.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { startStack, type ProcessName, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { timesAbout } from '../support/time-columns.ts';
import { makeTrigger, publish, runsOf } from './event-world.ts';

// Processes whose clocks are wrong, each in its own way; only PostgreSQL's counts.
const clocks = createClocks();
let models: ModelServer;
let effects: EffectServer;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  effects = await startEffectServer();
  stack = await startStack({
    processes: ['api', 'worker-runs', 'worker-bulk'],
    modelBaseUrl: models.baseUrl,
    egressPorts: [effects.port],
    ...clocks.options,
  });
});

afterAll(async () => {
  await stack?.stop();
  effects?.close();
  await models?.close();
  clocks.remove();
});

const minuteMs = 60_000;
// Neither is the length of anything that the platform keeps.
const hourMs = 83 * minuteMs;
const dayMs = 24 * 60 * minuteMs + hourMs;
const marginMs = 5 * minuteMs;
const both = (api: number, workers: number): Partial<Record<ProcessName, number>> => ({
  api,
  'worker-runs': workers,
  'worker-bulk': workers,
});
const slugOf = (kind: string) => `${kind}-${crypto.randomUUID().slice(0, 8)}`;
const isNow = (at: unknown) => Math.abs(Date.parse(String(at)) - Date.now()) < marginMs;

test.each([
  ['an hour ahead', both(hourMs, hourMs)],
  ['an hour behind', both(-hourMs, -hourMs)],
  ['a day ahead', both(dayMs, dayMs)],
  ['a day behind', both(-dayMs, -dayMs)],
  ['a day ahead in the API and a day behind in the workers', both(dayMs, -dayMs)],
  ['a day behind in the API and a day ahead in the workers', both(-dayMs, dayMs)],
])(
  'clocks %s: runs have the time that they were given, waits end when they should, and rows keep the time of the database',
  async (_how, offsets) => {
    await clocks.set(stack, offsets);
    const client = slugOf('client');
    const agent = await makeAgent(stack, [writeTool(client, effects, { client_owned: true, timeout_s: 3 })]);
    const start = async (text: string, more: object = {}) => {
      const body = { agent_id: agent.id, input: { text }, limits: { max_duration_s: 600 }, ...more };
      const answer = await stack.request('POST', '/runs', { body });
      expect([answer.status, answer.body]).toMatchObject([202, {}]);
      return answer.body as { id: string };
    };

    const plain = await start(scripted({ steps: [{ text: 'Done.' }] }));
    const late = await start(scripted({ steps: [{ text: 'Done.' }] }), { start_after: new Date(Date.now() + 2_000).toISOString() });
    const waits = await start(scripted({ steps: [{ tool_calls: [{ name: client, arguments: { n: 1 } }] }, { text: 'Nobody did it.' }] }));
    const trigger = await makeTrigger(stack, agent.id, { event_kind: slugOf('shop').replaceAll('-', '_') });
    const { body: kind } = await stack.request('GET', `/event-triggers/${trigger}`);
    await publish(stack, {
      event_kind: (kind as { event_kind: string }).event_kind,
      payload: { text: scripted({ steps: [{ text: 'Seen.' }] }) },
    });

    const ends = await Promise.all([plain, late, waits].map(({ id }) => endOf(watchRun(stack, id))));
    await until(async () => (await runsOf(stack, trigger)).some(({ status }) => status === 'succeeded'));

    expect(ends.map((frames) => frames.at(-1)?.data)).toMatchObject([
      { status: 'succeeded' },
      { status: 'succeeded' },
      { status: 'succeeded' },
    ]);
    expect(ends[2]?.find(({ type }) => type === 'tool.result')?.data).toMatchObject({ status: 'timed_out' });
    for (const { id } of [plain, late, waits]) {
      const run = (await runOf(stack, id)) as unknown as Record<string, unknown>;
      expect([run['created_at'], run['started_at'], run['finished_at']].map(isNow)).toEqual([true, true, true]);
    }
    expect(ends.flat().filter(({ text }) => !isNow((JSON.parse(text) as { ts: string }).ts))).toEqual([]);
    for (const offsetMs of new Set(Object.values(offsets))) expect(await timesAbout(stack.adminUrl, { offsetMs, marginMs })).toEqual([]);
  },
);
