import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseFrame } from '../../db/streams/frame-text.ts';
import { endOf, watchRun } from '../support/run-checks.ts';
import { archivedFrames, created, startRun, writeTool } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';
import { asking, familyFaults, familyOf, makeNamed, playing, startFamilyStack, type FamilyStack } from './family.ts';

let world: FamilyStack;

beforeAll(async () => {
  world = await startFamilyStack();
});

afterAll(() => world?.close());

/** A step that streams for about `seconds`. */
const talking = (seconds: number) => ({ tokens: seconds * 20, delay_ms: 50 });

async function resultsOf(runId: string) {
  const frames = (await archivedFrames(world.stack, runId)).map(parseFrame);
  return frames.flatMap((frame) => (frame.type === 'tool.result' && frame.run_id === runId ? [frame.data] : []));
}

async function statesOf(runId: string): Promise<string[]> {
  return (await familyOf(world.stack, runId)).map(({ depth, status, finish_reason: reason }) => `${depth} ${status} ${reason}`);
}

async function untilSpeaking(runId: string, depth: number): Promise<string> {
  let id = '';
  await until(async () => {
    const found = (await familyOf(world.stack, runId)).find((run) => run.depth === depth);
    if (found?.status !== 'running') return false;
    id = found.id;
    return (await archivedFrames(world.stack, id)).some((text) => text.includes('"type":"message.delta"'));
  });
  return id;
}

async function startThree(): Promise<{ runId: string }> {
  const { stack, models } = world;
  const leaf = await makeNamed(stack);
  const middle = await makeNamed(stack, { sub_agents: [{ id: leaf.id }] });
  const top = await makeNamed(stack, { sub_agents: [{ id: middle.id }] });
  const middleTask = playing(models, [asking([leaf, playing(models, [talking(120)])]), { text: 'Middle.' }]);
  const run = await startRun(stack, top.id, playing(models, [asking([middle, middleTask]), { text: 'Top.' }]));
  return { runId: run.id };
}

test('a cancelled run takes all runs below it along long before it would have ended, whole streams and all', async () => {
  const { runId } = await startThree();
  await untilSpeaking(runId, 2);

  const before = Date.now();
  const answer = await world.stack.request('POST', `/runs/${runId}/cancel`, { body: {} });
  await endOf(watchRun(world.stack, runId));

  expect(answer.status).toBe(202);
  expect(Date.now() - before).toBeLessThan(60_000); // the deepest talks for two minutes
  expect(await statesOf(runId)).toEqual(['0 cancelled cancelled', '1 cancelled cancelled', '2 cancelled cancelled']);
  expect(await resultsOf(runId)).toMatchObject([{ status: 'cancelled', error: null }]);
  expect(await familyFaults(world.stack, runId)).toEqual([]);
});

test('a child that is cancelled by itself is a result for its parent, which goes on', async () => {
  const { runId } = await startThree();
  await untilSpeaking(runId, 2);
  const [, middle] = await familyOf(world.stack, runId);

  const answer = await world.stack.request('POST', `/runs/${middle?.id}/cancel`, { body: {} });
  await endOf(watchRun(world.stack, runId));

  expect(answer.status).toBe(202);
  expect(await statesOf(runId)).toEqual(['0 succeeded stop', '1 cancelled cancelled', '2 cancelled cancelled']);
  expect(await resultsOf(runId)).toMatchObject([{ status: 'cancelled' }]);
  expect(await familyFaults(world.stack, runId)).toEqual([]);
});

test('a run whose time is over takes its children along', async () => {
  const { stack, models } = world;
  const leaf = await makeNamed(stack);
  const top = await makeNamed(stack, { sub_agents: [{ id: leaf.id }], limits: { max_duration_s: 10 } });

  const run = await startRun(stack, top.id, playing(models, [asking([leaf, playing(models, [talking(60)])]), { text: 'Never.' }]));
  await untilSpeaking(run.id, 1);
  const [, child] = await familyOf(stack, run.id);
  await endOf(watchRun(stack, run.id));

  expect(child?.limits['max_duration_s']).toBeLessThanOrEqual(10);
  const states = await statesOf(run.id);
  expect(states[0]).toBe('0 failed timeout');
  expect(['1 cancelled cancelled', '1 failed timeout']).toContain(states[1]);
  expect(await familyFaults(stack, run.id)).toEqual([]);
});

test('a child that fails is a failed result, and says why', async () => {
  const { stack, models } = world;
  const leaf = await makeNamed(stack, { limits: { max_steps: 1 } });
  const top = await makeNamed(stack, { sub_agents: [{ id: leaf.id }] });
  const broken = playing(models, [{ fault: { kind: 'status', status: 401 } }]);
  const endless = playing(models, [{ text: 'Half of it.', finish_reason: 'length' }]);

  const run = await startRun(stack, top.id, playing(models, [asking([leaf, broken], [leaf, endless]), { text: 'I go on.' }]));
  await endOf(watchRun(stack, run.id));

  // The two begin at once, so either may stand first.
  expect((await statesOf(run.id)).toSorted()).toEqual(['0 succeeded stop', '1 failed error', '1 failed max_output']);
  const results = await resultsOf(run.id);
  expect(results).toHaveLength(2);
  expect(results).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ status: 'failed', error: expect.objectContaining({ code: 'tool_unavailable', reason: 'auth_refused' }) }),
      expect.objectContaining({
        status: 'failed',
        output: expect.objectContaining({ status: 'failed', output: 'Half of it.' }),
        error: expect.objectContaining({ reason: 'max_output', message: expect.stringContaining('Half of it.') }),
      }),
    ]),
  );
  expect(await familyFaults(stack, run.id)).toEqual([]);
});

test('a child whose workflow is lost ends as failed, and its parent goes on', async () => {
  const { stack, models } = world;
  const leaf = await makeNamed(stack);
  const top = await makeNamed(stack, { sub_agents: [{ id: leaf.id }] });
  const run = await startRun(stack, top.id, playing(models, [asking([leaf, playing(models, [talking(60)])]), { text: 'Without it.' }]));
  const childId = await untilSpeaking(run.id, 1);

  await stack.temporal.client.workflow.getHandle(`run:${childId}`).terminate('lost');
  await endOf(watchRun(stack, run.id));

  expect(await statesOf(run.id)).toEqual(['0 succeeded stop', '1 failed error']);
  expect(await resultsOf(run.id)).toMatchObject([{ status: 'failed', error: { reason: 'workflow_closed' } }]);
});

test('depth, number and calls of agents asked are bounded over the whole tree, and the model is told', async () => {
  const { stack, models } = world;
  const leaf = await makeNamed(stack);
  const said = () => playing(models, [{ text: 'Here.' }]);
  const few = await makeNamed(stack, { sub_agents: [{ id: leaf.id }], limits: { max_children: 2 } });
  const once = await makeNamed(stack, { sub_agents: [{ id: leaf.id, max_calls: 1 }] });
  const never = await makeNamed(stack, { sub_agents: [{ id: leaf.id }], limits: { max_depth: 0 } });
  const deep = await makeNamed(stack, { sub_agents: [{ id: once.id }], limits: { max_depth: 1 } });

  const start = async (agent: { id: string }, script: string) => {
    const run = await startRun(stack, agent.id, script);
    await endOf(watchRun(stack, run.id));
    return run.id;
  };
  const tooMany = await start(few, playing(models, [asking([leaf, said()]), asking([leaf, said()], [leaf, said()]), { text: 'Enough.' }]));
  const twice = await start(once, playing(models, [asking([leaf, said()]), asking([leaf, said()]), { text: 'Enough.' }]));
  const notOffered = await start(never, playing(models, [asking([leaf, said()]), { text: 'Alone.' }]));
  const tooDeep = await start(
    deep,
    playing(models, [asking([once, playing(models, [asking([leaf, said()]), { text: 'Alone.' }])]), { text: 'Done.' }]),
  );

  const reasons = async (runId: string) => (await resultsOf(runId)).map(({ status, error }) => error?.reason ?? status);
  expect((await reasons(tooMany)).toSorted()).toEqual(['max_children', 'succeeded', 'succeeded']);
  expect(await reasons(twice)).toEqual(['succeeded', 'max_calls']);
  expect(await reasons(notOffered)).toEqual(['unknown_tool']);
  const [, child] = await familyOf(stack, tooDeep);
  expect(child?.limits).toMatchObject({ max_depth: 0 });
  expect(await reasons(child?.id ?? '')).toEqual(['unknown_tool']);
  for (const runId of [tooMany, twice, notOffered, tooDeep]) expect(await familyFaults(stack, runId)).toEqual([]);
});

test('five agents are asked side by side, four at a time, beside a write of the parent itself', async () => {
  const { stack, models, effects } = world;
  const leaf = await makeNamed(stack);
  const slug = `write-${crypto.randomUUID().slice(0, 8)}`;
  const tool = await created(stack, '/tools', writeTool(slug, effects));
  const top = await makeNamed(stack, { sub_agents: [{ id: leaf.id }], tools: [{ id: tool.id }] });
  const five = Array.from({ length: 5 }, () => [leaf, playing(models, [talking(1)])] as const);

  const run = await startRun(stack, top.id, playing(models, [asking(...five, [slug, { n: 1 }]), { text: 'All of them.' }]));
  await endOf(watchRun(stack, run.id));

  const results = await resultsOf(run.id);
  expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 'succeeded'));
  expect(await familyFaults(stack, run.id)).toEqual([]);
  const frames = (await archivedFrames(stack, run.id)).map(parseFrame);
  let open = 0;
  const atOnce = frames.map((frame) => {
    if (frame.type === 'sub_agent') open += frame.data.phase === 'started' ? 1 : frame.data.phase === 'finished' ? -1 : 0;
    return open;
  });
  expect(Math.max(...atOnce)).toBe(4);
});
