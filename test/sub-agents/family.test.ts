import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseFrame } from '../../db/streams/frame-text.ts';
import { endOf, watchRun } from '../support/run-checks.ts';
import { archivedFrames, startRun } from '../support/scenario.ts';
import { asking, familyFaults, familyOf, makeNamed, playing, startFamilyStack, type FamilyStack } from './family.ts';

let world: FamilyStack;

beforeAll(async () => {
  world = await startFamilyStack();
});

afterAll(() => world?.close());

test('an agent asks an agent that asks an agent: each has its own run, the results go up, the usage adds up', async () => {
  const { stack, models } = world;
  const leaf = await makeNamed(stack);
  const middle = await makeNamed(stack, { sub_agents: [{ id: leaf.id }] });
  const top = await makeNamed(stack, { sub_agents: [{ id: middle.id }] });
  const leafTask = playing(models, [{ text: 'From the leaf.' }]);
  const middleTask = playing(models, [asking([leaf, leafTask]), { text: 'From the middle.' }]);

  const run = await startRun(stack, top.id, playing(models, [asking([middle, middleTask]), { text: 'From the top.' }]));
  await endOf(watchRun(stack, run.id));

  const family = await familyOf(stack, run.id);
  expect(await familyFaults(stack, run.id)).toEqual([]);
  expect(family.map(({ agent_slug, depth, status, path, source }) => ({ agent_slug, depth, status, path, source }))).toEqual([
    { agent_slug: top.slug, depth: 0, status: 'succeeded', path: [top.slug], source: 'api' },
    { agent_slug: middle.slug, depth: 1, status: 'succeeded', path: [top.slug, middle.slug], source: 'sub_agent' },
    { agent_slug: leaf.slug, depth: 2, status: 'succeeded', path: [top.slug, middle.slug, leaf.slug], source: 'sub_agent' },
  ]);

  const frames = (await archivedFrames(stack, run.id)).map(parseFrame);
  const [, child, grandchild] = family;
  const told = frames.filter((frame) => frame.type === 'sub_agent' || frame.type === 'run.started' || frame.type === 'run.finished');
  expect(told.map((frame) => `${frame.path.length} ${frame.type} ${frame.type === 'sub_agent' ? frame.data.phase : ''}`.trim())).toEqual([
    '1 run.started',
    '1 sub_agent started',
    '2 run.started',
    '2 sub_agent started',
    '3 run.started',
    '3 run.finished',
    '2 sub_agent finished',
    '2 run.finished',
    '1 sub_agent finished',
    '1 run.finished',
  ]);
  const begun = frames.find((frame) => frame.type === 'run.started' && frame.run_id === grandchild?.id);
  expect(begun).toMatchObject({
    root_run_id: run.id,
    parent_run_id: child?.id,
    path: [top.slug, middle.slug, leaf.slug],
    data: { tool_call_id: grandchild?.parent_tool_call_id, source: 'sub_agent', depth: 2 },
  });
  const result = frames.find((frame) => frame.type === 'tool.result' && frame.run_id === run.id);
  expect(result).toMatchObject({
    data: { status: 'succeeded', output_type: 'json', output: { run_id: child?.id, status: 'succeeded', output: 'From the middle.' } },
  });
  expect(frames.findLast((frame) => frame.type === 'sub_agent')).toMatchObject({
    data: { phase: 'finished', status: 'succeeded', summary: 'From the middle.', usage: { model_calls: 3 } },
  });

  const steps = await stack.request('GET', `/runs/${run.id}/steps?kind=sub_agent`);
  expect((steps.body as { items: unknown[] }).items).toMatchObject([
    { kind: 'sub_agent', name: middle.ask, status: 'succeeded', child_run_id: child?.id, usage: { model_calls: 3 }, attempt: 1 },
  ]);
});
