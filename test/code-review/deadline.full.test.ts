import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openPull } from '../fakes/github/scene.ts';
import type { FakePull } from '../fakes/github/state.ts';
import { until } from '../support/temporal.ts';
import { found, openReviews, voted, type AskedStage, type ReviewWorld } from './review-world.ts';

let world: ReviewWorld;
let pulls = 0;

beforeAll(async () => {
  world = await openReviews({ files: { 'src/a.ts': 'const a = 1;\n' } });
});
beforeEach(() => {
  world.asked.length = 0;
  world.host.onRequest = null;
  world.host.requests.length = 0;
  world.answers = { pass: () => found({ path: 'src/a.ts', line: 1, quote: 'const a = wrong;', title: 'It goes wrong' }) };
});
afterAll(async () => {
  expect(world?.host.mistakes).toEqual([]);
  await world?.stop();
});

const reviews = 'POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews';
const seconds = 25;

function open(): FakePull {
  pulls += 1;
  return openPull(world.scene.repository, { branch: `b${pulls}`, files: { 'src/a.ts': 'const a = wrong;\n' } });
}

async function review({ number }: FakePull): Promise<string> {
  const body = { review: { binding_id: world.bindingId, pull_number: number }, limits: { max_duration_s: seconds } };
  const made = await world.stack.request('POST', '/runs', { body });
  expect(made.status).toBe(202);
  return (made.body as { id: string }).id;
}

const checkOf = ({ headSha }: FakePull) => world.scene.repository.checks.find((check) => check.headSha === headSha);

test.each<[AskedStage, () => ReturnType<typeof found>]>([
  ['summary', () => ({ ...found(), first_token_ms: 600_000 })],
  ['verify', () => ({ ...voted(true), first_token_ms: 600_000 })],
])(
  'a review whose time is over while the model is at its %s ends as timeout: nothing is posted, and its check is neutral',
  async (stage, answer) => {
    world.answers = { ...world.answers, [stage]: answer };
    const pull = open();

    const runId = await review(pull);
    const run = await world.ended(runId);

    expect(run).toMatchObject({ status: 'failed', finish_reason: 'timeout' });
    const took = 'select extract(epoch from finished_at - started_at)::float8 as s from runs where id = ?';
    // The reconciler would have ended it a minute late.
    expect((await world.sql<{ s: number }>(took, [runId]))[0]?.s).toBeLessThan(seconds + 50);
    expect(world.asked).toContain(stage);
    await until(() => checkOf(pull)?.status === 'completed');
    expect(checkOf(pull)?.conclusion).toBe('neutral');
    expect([pull.reviews, pull.comments, world.host.writes().filter(({ route }) => route === reviews)]).toEqual([[], [], []]);
  },
);

test('a review that is being posted when its time is over is posted, and succeeds', async () => {
  world.host.onRequest = ({ route }) => (route === reviews ? { delayMs: (seconds + 2) * 1_000 } : null);
  const pull = open();

  const run = await world.ended(await review(pull));

  expect(run).toMatchObject({ status: 'succeeded', error: null });
  expect([pull.reviews.length, pull.comments.length, checkOf(pull)?.conclusion]).toEqual([1, 1, 'neutral']);
});
