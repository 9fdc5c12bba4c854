import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { endOf, watchRun } from '../support/run-checks.ts';
import { archivedFrames, created, startRun, writeTool } from '../support/scenario.ts';
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

let world: FamilyStack;
let top: NamedAgent;
let middle: NamedAgent;
let leaf: NamedAgent;
const slug = `write-${crypto.randomUUID().slice(0, 8)}`;

beforeAll(async () => {
  world = await startFamilyStack();
  const { stack, effects } = world;
  const tool = await created(stack, '/tools', writeTool(slug, effects));
  leaf = await makeNamed(stack, { tools: [{ id: tool.id }] });
  middle = await makeNamed(stack, { sub_agents: [{ id: leaf.id }] });
  top = await makeNamed(stack, { sub_agents: [{ id: middle.id }] });
});

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

test('a worker killed while a grandchild speaks and after the cancel of another tree: one ends as it would have, all of the other cancelled', async () => {
  const { stack } = world;
  const [speaking, cancelled] = [await startThree(), await startThree()];
  await until(async () => {
    const lowest = (await familyOf(stack, speaking)).find(({ depth }) => depth === 2);
    return lowest !== undefined && (await archivedFrames(stack, lowest.id)).some((text) => text.includes('"type":"message.delta"'));
  });
  await until(async () => (await familyOf(stack, cancelled)).length === 3);

  await stack.request('POST', `/runs/${cancelled}/cancel`, { body: {} });
  await restart();
  await Promise.all([speaking, cancelled].map((runId) => endOf(watchRun(stack, runId))));

  expect(await statesOf(speaking)).toEqual([top, middle, leaf].map((agent) => `${agent.slug} succeeded`));
  expect(await statesOf(cancelled)).toEqual([top, middle, leaf].map((agent) => `${agent.slug} cancelled`));
  expect(await familyFaults(stack, speaking)).toEqual([]);
  expect(await familyFaults(stack, cancelled)).toEqual([]);
});

if (isWholeMatrix) {
  test.each([1, 2, 3, 4])(
    'a worker killed somewhere (%i) in a tree: one child a call, one effect at most, everything ends',
    async (part) => {
      const before = world.effects.effects.length;
      const runId = await startThree();
      await delay(part * 450 + Math.random() * 300);

      await restart();
      await endOf(watchRun(world.stack, runId));

      expect(await statesOf(runId)).toEqual([top, middle, leaf].map((agent) => `${agent.slug} succeeded`));
      expect(world.effects.effects.length - before).toBeLessThanOrEqual(1);
      expect(await familyFaults(world.stack, runId)).toEqual([]);
    },
  );
}
