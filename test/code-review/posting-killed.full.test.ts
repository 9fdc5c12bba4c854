import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { openPull, pushTo } from '../fakes/github/scene.ts';
import type { HostRequest } from '../fakes/github/index.ts';
import type { FakePull } from '../fakes/github/state.ts';
import { until } from '../support/temporal.ts';
import { found, openReviews, type ReviewWorld } from './review-world.ts';
import { oneOfEach } from '../chaos/whole.ts';

let world: ReviewWorld;
let pulls = 0;

const lines = (name: string) => Array.from({ length: 60 }, (_, at) => `const ${name}${at + 1} = ${at + 1};\n`).join('');
const wrong = (name: string, line: number) =>
  lines(name).replace(`const ${name}${line} = ${line};`, `const ${name}${line} = wrong${line};`);

beforeAll(async () => {
  world = await openReviews({ files: { 'src/a.ts': lines('a') } });
});
beforeEach(() => {
  world.host.onRequest = null;
  world.host.onServed = null;
  world.host.requests.length = 0;
  world.answers = { pass: () => found({ path: 'src/a.ts', line: 10, quote: 'const a10 = wrong10;', title: 'It goes wrong' }) };
});
afterAll(async () => {
  expect(world?.host.mistakes).toEqual([]);
  await world?.stop();
});

function openFaulty(): FakePull {
  pulls += 1;
  return openPull(world.scene.repository, { branch: `b${pulls}`, files: { 'src/a.ts': wrong('a', 10) } });
}

const writesOf = (route: string) => world.host.writes().filter((request) => request.route === route);

const reviews = 'POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews';
const checks = 'POST /repos/{owner}/{repo}/check-runs';
const ends = 'PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}';

/** Kills the worker when the host has done what a request of the route asks, and before anybody hears of it; then it starts again. */
function killAfter(route: string): { readonly isKilled: () => boolean } {
  let isKilled = false;
  world.host.onServed = async (request: HostRequest) => {
    if (isKilled || request.route !== route) return;
    isKilled = true;
    await world.stack.kill('worker-bulk', 'SIGKILL');
    await world.stack.start('worker-bulk');
  };
  return { isKilled: () => isKilled };
}

const taken = [
  ['the review', reviews],
  ['the check', checks],
  ['the end of the check', ends],
] as const;

test.each(oneOfEach(taken, () => 'write'))(
  'a worker killed right after the host has taken %s posts nothing more, and the run succeeds with what stands there',
  async (_what, route) => {
    const pull = openFaulty();
    const kill = killAfter(route);

    const run = await world.ended(await world.review(pull.number));

    expect(kill.isKilled()).toBe(true);
    expect(run).toMatchObject({ status: 'succeeded', error: null });
    expect(pull.reviews.length).toBe(1);
    expect(pull.comments.map(({ path, line }) => [path, line])).toEqual([['src/a.ts', 10]]);
    const own = world.scene.repository.checks.filter(({ headSha }) => headSha === pull.headSha);
    expect(own).toMatchObject([{ status: 'completed', conclusion: 'neutral' }]);
    expect(own[0]!.annotations.length).toBe(1);
    expect(run.output?.json).toMatchObject({
      findings: [{ title: 'It goes wrong', comment_id: pull.comments[0]!.id }],
      posted: { review_ids: [pull.reviews[0]!.id], summary_review_id: pull.reviews[0]!.id, check_run_id: own[0]!.id },
    });
  },
);

/** Attempts that Temporal has made of the activity that waits. */
async function attemptsOf(runId: string): Promise<number> {
  const { raw } = await world.stack.temporal.client.workflow.getHandle(workflowIds.run(runId)).describe();
  return Math.max(0, ...(raw.pendingActivities ?? []).map((pending) => pending.attempt ?? 0));
}

const moments = [
  ['when the host has taken it', reviews, 1],
  ['just before the review leaves', 'GET /repos/{owner}/{repo}/pulls/{pull_number}', 2],
] as const;

test.each(oneOfEach(moments, () => 'freeze'))(
  'a worker that is frozen %s, and goes on beside the next attempt, posts nothing twice',
  async (_when, route, nth) => {
    const pull = openFaulty();
    let seen = 0;
    world.host.onServed = async (request: HostRequest) => {
      // The first reading of the pull request is that of the diff.
      if (request.route !== route || (seen += 1) !== nth) return;
      await world.stack.kill('worker-bulk', 'SIGSTOP');
    };
    const runId = await world.review(pull.number);
    await until(async () => seen >= nth && (await attemptsOf(runId)) >= 2);
    world.host.onServed = null;
    await world.stack.kill('worker-bulk', 'SIGCONT');

    const run = await world.ended(runId);

    expect(run).toMatchObject({ status: 'succeeded', error: null });
    expect([pull.reviews.length, pull.comments.length]).toEqual([1, 1]);
  },
);

test('three pushes give one summary and no finding twice; a second review without anything new writes no more than its check', async () => {
  const pull = openFaulty();
  await world.ended(await world.review(pull.number));
  pushTo(world.scene.repository, pull, { files: { 'src/b.ts': 'const b = 1;\n' } });
  await world.ended(await world.review(pull.number));
  pushTo(world.scene.repository, pull, { files: { 'src/c.ts': 'const c = 1;\n' } });
  await world.ended(await world.review(pull.number));
  world.host.requests.length = 0;
  const again = await world.ended(await world.review(pull.number));

  expect(pull.comments.length).toBe(1);
  expect(pull.reviews.filter(({ body }) => !body.startsWith('<!--')).length).toBe(1);
  expect(again.output?.json).toMatchObject({ mode: 'no_change' });
  expect(world.host.writes().map(({ route }) => route)).toEqual([checks, ends]);
  expect(world.host.requests.filter(({ route }) => !route.startsWith('git ')).length).toBeLessThanOrEqual(6);
});

test('a head that moves while the model works gets nothing for the old one, whose check is cancelled', async () => {
  const pull = openFaulty();
  const old = pull.headSha;
  const pass = world.answers.pass!;
  world.answers.pass = (prompt) => {
    if (pull.headSha === old) pushTo(world.scene.repository, pull, { files: { 'src/b.ts': 'const b = 2;\n' } });
    return pass(prompt);
  };

  const run = await world.ended(await world.review(pull.number));

  expect(run).toMatchObject({ status: 'cancelled', finish_reason: 'superseded' });
  expect(writesOf(reviews)).toEqual([]);
  const own = () => world.scene.repository.checks.filter(({ headSha }) => headSha === old);
  await until(() => own().every(({ status }) => status === 'completed'));
  expect(own()).toMatchObject([{ conclusion: 'cancelled' }]);
});
