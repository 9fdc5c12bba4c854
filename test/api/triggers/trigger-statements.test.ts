import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { deliver as sendMessage, makeChannel, messageOf } from '../channels/channel-calls.ts';
import { openWorld, type World } from '../world.ts';
import { fanOutHere, makeTrigger, matchesOf, publish } from './event-calls.ts';
import { deliver, makeHook, send } from './hook-calls.ts';
import { isOfRequest } from '../../support/statements.ts';

const triggers = 100;
const statements: string[] = [];
let world: World;

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => statements.push(sql) });
});
afterAll(() => world?.close());

/** Statements of the quietest of some tries: others hold what the process does beside them. */
async function quietest(work: () => Promise<void>): Promise<string[]> {
  const tries: string[][] = [];
  for (let n = 0; n < 5; n += 1) {
    statements.length = 0;
    await work();
    tries.push([...statements]);
  }
  return tries.toSorted((left, right) => left.length - right.length)[0] ?? [];
}

/** What starts a run by itself: target, place in line, rows. */
const ofStart = /^\s*(?:with "?asker"? as|select "?w"?\."?id|with "?s0"? as)/;
const isTransaction = (sql: string) => sql.includes('set_config');

test('a delivery costs one read and one transaction, with three statements beside the start of its run', async () => {
  const hook = await makeHook(world);
  let n = 0;

  const sent = await quietest(async () => {
    expect((await deliver(world, hook, { text: `Hello ${(n += 1)}` })).status).toBe(202);
  });

  expect(sent.filter((sql) => sql.includes('gate_hook'))).toHaveLength(1);
  expect(sent.filter(isTransaction)).toHaveLength(1);
  const own = sent.filter((sql) => isOfRequest(sql) && !ofStart.test(sql));
  expect(own.map((sql) => /(?:into|update) "?(\w+)/.exec(sql)?.[1])).toEqual(['delivery_keys', 'endpoint_counters', 'webhook_deliveries']);
});

test('a delivery that is not verified, or whose address nobody has, costs one query', async () => {
  const hook = await makeHook(world, { unverified_ack: true });
  const statementsOf = (path: string) =>
    quietest(async () => void (await send(world, path, { body: '{}', headers: { 'webhook-id': 'x' } })));

  const unknown = await statementsOf(`${hook.path}-none`);

  expect(unknown.filter((sql) => !/outbox|signing_keys/.test(sql))).toEqual([expect.stringContaining('gate_hook')]);
});

test('a message of a channel costs one read and one transaction, whether it starts a run, waits behind one or came before', async () => {
  const scene = await makeChannel(world, 'slack');
  const costOf = (message: () => object) =>
    quietest(async () => {
      expect((await sendMessage(world, scene, message())).status).toBe(200);
    });
  let n = 0;
  const inThread = (thread: string) => messageOf('slack', `Hello ${(n += 1)}`, { thread });
  const once = messageOf('slack', 'Once');
  await sendMessage(world, scene, once);

  const sentOf = {
    starts: await costOf(() => inThread(`17000000.${1_000 + n}`)),
    joins: await costOf(() => inThread('17000000.1')),
    repeats: await costOf(() => once),
  };

  for (const sent of Object.values(sentOf)) {
    expect(sent.filter((sql) => sql.includes('gate_channel'))).toHaveLength(1);
    expect(sent.filter(isTransaction)).toHaveLength(1);
  }
  expect(sentOf.repeats.filter(isOfRequest)).toEqual([expect.stringContaining('into "channel_messages"')]);
});

test('an event for a hundred triggers is read once with all of them, and each run is one transaction', async () => {
  const scene = await makeTrigger(world);
  const { agentId, tenant } = scene;
  for (let made = 1; made < triggers; made += 1) await makeTrigger(world, { agent_id: agentId }, tenant);
  const { body: event } = await publish(world, tenant, { event_kind: 'shop.order_paid' });
  statements.length = 0;

  let passes = 1;
  while (!(await fanOutHere(world, tenant, event.id))) passes += 1;

  expect(statements.filter((sql) => sql.startsWith('select jsonb_build_object'))).toHaveLength(passes);
  // One more writes that all have been judged.
  expect(statements.filter(isTransaction)).toHaveLength(triggers + 1);
  const matches = await matchesOf(world, tenant, event.id);
  expect(new Set(matches.map(({ run_id: runId }) => runId)).size).toBe(triggers);
});
