import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { endOf, watchRun } from '../support/run-checks.ts';
import { archivedFrames, startRun, writeTool } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';
import {
  asking,
  familyFaults,
  familyOf,
  makeNamed,
  playing,
  startFamilyStack,
  type FamilyStack,
  type NamedAgent,
} from '../sub-agents/family.ts';
import { isWholeMatrix } from './whole.ts';

jest.setTimeout(300_000);

let world: FamilyStack;
let top: NamedAgent;
let middle: NamedAgent;
let leaf: NamedAgent;
const slug = `write-${crypto.randomUUID().slice(0, 8)}`;

beforeAll(async () => {
  world = await startFamilyStack();
  const { stack, effects } = world;
  const tool = await stack.request('POST', '/tools', { body: writeTool(slug, effects) });
  leaf = await makeNamed(stack, { tools: [{ id: (tool.body as { id: string }).id }] });
  middle = await makeNamed(stack, { sub_agents: [{ id: leaf.id }] });
  top = await makeNamed(stack, { sub_agents: [{ id: middle.id }] });
}, 120_000);

afterAll(() => world?.close());

/** A run of three depths, the lowest of which writes once. */
async function startThree(): Promise<string> {
  const { stack, models } = world;
  const talking = { tokens: 20, delay_ms: 40 };
  const leafTask = playing(models, [{ ...asking([slug, { n: 1 }]), ...talking }, { text: 'Written.' }]);
  const middleTask = playing(models, [asking([leaf, leafTask]), talking]);
  const run = await startRun(stack, top.id, playing(models, [{ ...talking, ...asking([middle, middleTask]) }, { text: 'Done.' }]));
  return run.id;
}

async function restart(): Promise<void> {
  await world.stack.kill('worker-runs');
  await world.stack.start('worker-runs');
}

async function statesOf(runId: string): Promise<string[]> {
  return (await familyOf(world.stack, runId)).map(({ agent_slug: name, status }) => `${name} ${status}`);
}

test('a worker killed while a grandchild speaks: the tree ends as it would have', async () => {
  const runId = await startThree();
  await until(async () => {
    const lowest = (await familyOf(world.stack, runId)).find(({ depth }) => depth === 2);
    return lowest !== undefined && (await archivedFrames(world.stack, lowest.id)).some((text) => text.includes('"type":"message.delta"'));
  }, 90_000);

  await restart();
  await endOf(watchRun(world.stack, runId), 90_000);

  expect(await statesOf(runId)).toEqual([top, middle, leaf].map((agent) => `${agent.slug} succeeded`));
  expect(await familyFaults(world.stack, runId)).toEqual([]);
});

test.each(isWholeMatrix ? [1, 2, 3, 4] : [2])(
  'a worker killed somewhere (%i) in a tree: one child a call, one effect at most, everything ends',
  async (part) => {
    const before = world.effects.effects.length;
    const runId = await startThree();
    await delay(part * 450 + Math.random() * 300);

    await restart();
    await endOf(watchRun(world.stack, runId), 120_000);

    expect(await statesOf(runId)).toEqual([top, middle, leaf].map((agent) => `${agent.slug} succeeded`));
    expect(world.effects.effects.length - before).toBeLessThanOrEqual(1);
    expect(await familyFaults(world.stack, runId)).toEqual([]);
  },
);

test('a worker killed after the cancel of a tree: all of it ends cancelled', async () => {
  const runId = await startThree();
  await until(async () => (await familyOf(world.stack, runId)).length === 3, 90_000);

  await world.stack.request('POST', `/runs/${runId}/cancel`, { body: {} });
  await restart();
  await endOf(watchRun(world.stack, runId), 120_000);

  expect(await statesOf(runId)).toEqual([top, middle, leaf].map((agent) => `${agent.slug} cancelled`));
  expect(await familyFaults(world.stack, runId)).toEqual([]);
});
