import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rows } from '../../db/sql.ts';
import { parseFrame } from '../../db/streams/frame-text.ts';
import { sweep } from '../../db/transaction.ts';
import { endOf, watchRun } from '../support/run-checks.ts';
import { archivedFrames, created, startRun, writeTool } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';
import { asking, familyFaults, familyOf, makeNamed, playing, startFamilyStack, type FamilyStack } from './family.ts';

let world: FamilyStack;

beforeAll(async () => {
  world = await startFamilyStack();
});

afterAll(() => world?.close());

interface Pending {
  readonly id: string;
  readonly run_id: string;
  readonly args: unknown;
  readonly status: string;
}

async function approvalsOf(runId: string): Promise<Pending[]> {
  const { body } = await world.stack.request('GET', `/runs/${runId}/approvals?status=pending`);
  return (body as { items: Pending[] }).items;
}

/** Waits by the rows: a caller may not ask that often. */
async function untilAsked(runId: string): Promise<void> {
  await until(async () => {
    const asked = await sweep(world.stack.db, (em) =>
      rows(em, `select id from approvals where root_run_id = ? and status = 'pending'`, [runId]),
    );
    return asked.length === 1;
  });
}

/** A run of three depths whose lowest asks people before it writes. */
async function startThree(): Promise<{ runId: string; slug: string }> {
  const { stack, models, effects } = world;
  const slug = `write-${crypto.randomUUID().slice(0, 8)}`;
  const tool = await created(stack, '/tools', writeTool(slug, effects));
  const leaf = await makeNamed(stack, { tools: [{ id: tool.id, approval: 'always' }] });
  const middle = await makeNamed(stack, { sub_agents: [{ id: leaf.id }] });
  const top = await makeNamed(stack, { sub_agents: [{ id: middle.id }] });
  const leafTask = playing(models, [asking([slug, { n: 7 }]), { text: 'Written.' }]);
  const middleTask = playing(models, [asking([leaf, leafTask]), { text: 'Middle.' }]);
  const run = await startRun(stack, top.id, playing(models, [asking([middle, middleTask]), { text: 'Top.' }]));
  await untilAsked(run.id);
  return { runId: run.id, slug };
}

const statesOf = async (runId: string) => (await familyOf(world.stack, runId)).map(({ depth, status }) => `${depth} ${status}`);

test('a gated tool at depth 3 shows on the root, which waits with all between, and is answered there, also after the worker was killed', async () => {
  const { stack, effects } = world;
  const before = effects.effects.length;
  const { runId } = await startThree();

  const waiting = await statesOf(runId);
  const { body: root } = await stack.request('GET', `/runs/${runId}`);
  const [question] = await approvalsOf(runId);
  await stack.kill('worker-runs');
  await stack.start('worker-runs');
  const answer = await stack.request('POST', `/runs/${runId}/approvals`, {
    body: { resolutions: [{ approval_id: question?.id, decision: 'approve' }] },
  });
  await endOf(watchRun(stack, runId));

  expect(waiting).toEqual(['0 waiting', '1 waiting', '2 waiting']);
  expect(root).toMatchObject({ waiting_on: 'approval', pending_approvals: 1 });
  expect(question).toMatchObject({ run_id: (await familyOf(stack, runId))[2]?.id, args: { n: 7 } });
  expect(answer.status).toBe(200);
  expect(await statesOf(runId)).toEqual(['0 succeeded', '1 succeeded', '2 succeeded']);
  expect(effects.effects).toHaveLength(before + 1);
  expect(await familyFaults(stack, runId)).toEqual([]);
  const frames = (await archivedFrames(stack, runId)).map(parseFrame);
  const phases = frames.flatMap((frame) =>
    frame.type === 'sub_agent' ? [`${frame.path.length} ${frame.data.phase} ${frame.data.status}`] : [],
  );
  expect(phases).toEqual([
    '1 started queued',
    '2 started queued',
    '2 waiting waiting',
    '1 waiting waiting',
    '2 finished succeeded',
    '1 finished succeeded',
  ]);
});

test('a tree that waits is cancelled whole, its question withdrawn', async () => {
  const { stack, effects } = world;
  const before = effects.effects.length;
  const { runId } = await startThree();

  await stack.request('POST', `/runs/${runId}/cancel`, { body: {} });
  await endOf(watchRun(stack, runId));

  expect(await statesOf(runId)).toEqual(['0 cancelled', '1 cancelled', '2 cancelled']);
  expect(await approvalsOf(runId)).toEqual([]);
  expect(effects.effects).toHaveLength(before);
  expect(await familyFaults(stack, runId)).toEqual([]);
});

test('asking an agent is a write: where writes ask, the question comes first', async () => {
  const { stack, models } = world;
  const leaf = await makeNamed(stack);
  const top = await makeNamed(stack, { sub_agents: [{ id: leaf.id }], approvals: { write: 'ask' } });
  const run = await startRun(stack, top.id, playing(models, [asking([leaf, playing(models, [{ text: 'Asked.' }])]), { text: 'Done.' }]));
  await untilAsked(run.id);

  const alone = await familyOf(stack, run.id);
  const [question] = await approvalsOf(run.id);
  await stack.request('POST', `/runs/${run.id}/approvals`, { body: { resolutions: [{ approval_id: question?.id, decision: 'approve' }] } });
  await endOf(watchRun(stack, run.id));

  expect(alone).toHaveLength(1);
  expect(await statesOf(run.id)).toEqual(['0 succeeded', '1 succeeded']);
  expect(await familyFaults(stack, run.id)).toEqual([]);
});
