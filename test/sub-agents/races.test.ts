import { unclaimStep } from '../../domain/runs/steps/tries.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cancelRun } from '../../domain/runs/end/cancel-run.ts';
import { finishRun } from '../../domain/runs/end/finish-run.ts';
import { openModelStep } from '../../domain/runs/steps/model-steps.ts';
import { openChild } from '../../domain/runs/children/open-child.ts';
import { makeAsked, openTreeWorld, type TreeWorld } from './tree.ts';

let tree: TreeWorld;

beforeAll(async () => {
  tree = await openTreeWorld();
});

afterAll(() => tree.close());

test('a child that is made while its parent is being cancelled is cancelled with it', async () => {
  const leaf = await makeAsked(tree);
  const top = await makeAsked(tree, { sub_agents: [{ id: leaf.id }] });
  const runId = await tree.begin(top.id);
  const [toolCallId = ''] = await tree.ask(runId, [{ slug: leaf.ask, args: { task: 'Look.' } }]);
  const judge = () => ({ refusal: null, gate: null });

  let cancelling: Promise<unknown> | undefined;
  const opened = await tree.as(runId, async (tx) => {
    const made = await openChild(tx, { runId, toolCallId, currency: 'USD', judge });
    cancelling = tree.as(runId, (other) => cancelRun(other, { runId, policy: 'interrupt', reason: null }));
    await delay(400); // it waits for the parent's row by now
    return made;
  });
  await cancelling;

  if (opened.kind !== 'child') throw new Error(`no child was opened: ${opened.kind}`);
  expect(await tree.one('select status from runs where id = ?', [runId])).toEqual({ status: 'cancelling' });
  expect(await tree.one('select status from runs where id = ?', [opened.child.runId])).toEqual({ status: 'cancelled' });
  expect(await tree.faults([opened.child.runId])).toEqual([]);
});

test('a claim is taken back once, also when it is said twice since the first answer was lost, and never from a later try', async () => {
  const agent = await makeAsked(tree);
  const runId = await tree.begin(agent.id);
  const claim = (over: number | null = null) => tree.as(runId, (tx) => openModelStep(tx, { runId, step: 1, over }));
  const takeBack = (attempt: number) => tree.as(runId, (tx) => unclaimStep(tx, { runId, step: 1, attempt }));
  await claim();

  expect([await takeBack(1), await takeBack(1)]).toEqual([true, true]);
  expect(await claim()).toMatchObject({ kind: 'open', attempt: 1, retries: [] });
  expect(await claim()).toEqual({ kind: 'held', attempt: 1 });
  await claim(1);
  expect(await takeBack(1)).toBe(false);
  expect(await tree.one('select attempt from run_steps where run_id = ? and step = 1', [runId])).toEqual({ attempt: 2 });
});

test('a stop that comes late, for a step behind which the run has gone on elsewhere, ends nothing', async () => {
  const agent = await makeAsked(tree);
  const runId = await tree.begin(agent.id);
  const stop = (step: number) => tree.as(runId, (tx) => finishRun(tx, { runId, reason: 'stop', step }));
  for (const step of [1, 2]) await tree.as(runId, (tx) => openModelStep(tx, { runId, step }));

  expect(await stop(1)).toEqual({ more: true });
  expect(await tree.one('select status from runs where id = ?', [runId])).toEqual({ status: 'running' });
  expect(await stop(2)).toEqual({ more: false });
  expect(await stop(1)).toEqual({ more: false });
  expect(await tree.one('select status from runs where id = ?', [runId])).toEqual({ status: 'succeeded' });
});

test('a step that is stored stays as it is, however often it is claimed again', async () => {
  const other = await makeAsked(tree);
  const top = await makeAsked(tree, { sub_agents: [{ id: other.id }] });
  const runId = await tree.begin(top.id);
  await tree.ask(runId, [{ slug: other.ask, args: { task: 'Look.' } }]);

  for (let n = 0; n < 2; n++) {
    expect(await tree.as(runId, (tx) => openModelStep(tx, { runId, step: 1 }))).toMatchObject({
      kind: 'stored',
      stopReason: 'tool_calls',
    });
  }

  expect(await tree.one('select status, attempt from run_steps where run_id = ? and step = 1 and tool_call_id is null', [runId])).toEqual({
    status: 'succeeded',
    attempt: 1,
  });
});
