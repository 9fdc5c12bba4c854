import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { openPull, pushTo } from '../fakes/github/scene.ts';
import type { FakePull } from '../fakes/github/state.ts';
import { priceCall, testBudgets, type TestBudgets } from '../support/budgets.ts';
import { until } from '../support/temporal.ts';
import { found, openReviews, type ReviewWorld } from './review-world.ts';

let world: ReviewWorld;
let budgets: TestBudgets;
let pulls = 0;

beforeAll(async () => {
  world = await openReviews({ files: { 'src/a.ts': 'const a = 1;\n', 'src/b.ts': 'const b = 1;\n' } });
  budgets = testBudgets(world.stack.db, world.stack.tenant);
  await priceCall(world.stack.db, 'compatible/m', '0.1');
  const playbook = { slug: 'one-vote', name: 'One vote', is_default: true, templates: { verify: { votes: 1 } } };
  expect((await world.stack.request('POST', '/review-playbooks', { body: playbook })).status).toBe(201);
});
beforeEach(async () => {
  await budgets.day(null);
  world.asked.length = 0;
  world.host.requests.length = 0;
  world.answers = { pass: () => found(fault('a'), fault('b')) };
});
afterAll(async () => {
  expect(world?.host.mistakes).toEqual([]);
  await world?.stop();
});

const fault = (name: string) => ({ path: `src/${name}.ts`, line: 1, quote: `const ${name} = wrong;`, title: `Wrong ${name}` });
const wrong = (...names: string[]) => Object.fromEntries(names.map((name) => [`src/${name}.ts`, `const ${name} = wrong;\n`]));

async function setCaps(caps: Readonly<Record<string, string>>): Promise<void> {
  const changed = await world.stack.request('PATCH', `/repo-bindings/${world.bindingId}`, { body: { budget_config: caps } });
  expect(changed.status).toBe(200);
}

function open(...names: string[]): FakePull {
  pulls += 1;
  return openPull(world.scene.repository, { branch: `b${pulls}`, files: wrong(...names) });
}

async function reviewed(pull: FakePull) {
  const run = await world.ended(await world.review(pull.number));
  expect(run).toMatchObject({ status: 'succeeded', error: null });
  return run.output!.json!;
}

const checkOf = ({ headSha }: FakePull) => world.scene.repository.checks.find((check) => check.headSha === headSha);
const pathsOf = ({ comments }: FakePull) => comments.map(({ path }) => path).toSorted();
/** What is open of the caps of the workspace, without the ids in their names. */
const openCaps = async () => (await budgets.windows()).filter(({ is_closed: isClosed }) => !isClosed).map(capOf);
const capOf = ({ name, spent, reserved }: { name: string; spent: string; reserved: string }) => [name.split(':')[0], spent, reserved];

/** A review of one finding asks for a summary, two passes and a vote. */
const price = '0.4';

test.each([
  ['per_review', 'skip'],
  ['per_review', 'summary_only'],
  ['per_pr', 'skip'],
  ['per_day', 'summary_only'],
])('%s is reached midway, with %s: nothing more is asked, what is verified is told, and the verdict is partial', async (cap, onExceed) => {
  await setCaps({ [cap]: price, on_exceed: onExceed });
  const pull = open('a', 'b');

  const output = await reviewed(pull);

  expect(world.asked.toSorted()).toEqual(['pass', 'pass', 'summary', 'verify']);
  expect(output).toMatchObject({ verdict: 'partial', skip_reason: null, counts: { gated: 2, inline: 1, refuted: 0 } });
  expect(pull.comments).toHaveLength(1);
  expect(checkOf(pull)).toMatchObject({ status: 'completed', conclusion: 'neutral' });
  await until(async () => (await openCaps()).every(([name]) => name !== 'run'));
  expect(await openCaps()).toEqual(cap === 'per_review' ? [] : [[{ per_pr: 'review-pr', per_day: 'review-day' }[cap], price, '0']]);
});

test('a run that may cost less than its binding lets a review cost is held to its own limit', async () => {
  await setCaps({ per_review: '5' });
  const review = { binding_id: world.bindingId, pull_number: open('a', 'b').number };
  const made = await world.stack.request('POST', '/runs', { body: { review, limits: { max_cost: price } } });
  const run = await world.ended((made.body as { id: string }).id);

  expect([run.output?.json?.verdict, world.asked.length]).toEqual(['partial', 4]);
});

test('a cap that is full before the start, with skip: no model is asked, nothing is posted but a neutral check', async () => {
  await setCaps({ per_pr: price, on_exceed: 'skip' });
  const pull = open('a');
  await reviewed(pull);
  pushTo(world.scene.repository, pull, { files: wrong('b') });
  world.asked.length = 0;
  world.host.requests.length = 0;

  const output = await reviewed(pull);

  expect([output.verdict, output.skip_reason, world.asked]).toEqual(['skipped', 'budget', []]);
  expect(checkOf(pull)).toMatchObject({ status: 'completed', conclusion: 'neutral' });
  expect(world.host.writes().every(({ path }) => path.includes('check-runs'))).toBe(true);
});

test('a cap that is full before the start, with summary_only: the summary names what was not read, and it is read when there is room', async () => {
  await setCaps({ per_pr: price, on_exceed: 'summary_only' });
  const pull = open('a');
  await reviewed(pull);
  pushTo(world.scene.repository, pull, { files: wrong('b') });
  world.asked.length = 0;

  const output = await reviewed(pull);

  expect(output).toMatchObject({ verdict: 'partial', skip_reason: null, files: { unread: [{ path: 'src/b.ts', reason: 'budget' }] } });
  expect([world.asked, checkOf(pull)?.conclusion, pathsOf(pull)]).toEqual([[], 'neutral', ['src/a.ts']]);
  expect(pull.reviews[0]!.body).toContain('src/b.ts');

  await setCaps({ per_pr: '5', on_exceed: 'summary_only' });
  expect(await reviewed(pull)).toMatchObject({ mode: 'incremental', verdict: 'findings' });
  expect(pathsOf(pull)).toEqual(['src/a.ts', 'src/b.ts']);
});

test('caps of a closed pull request and of a day that is over are closed and hold nothing; one that is reopened goes on from what it has spent', async () => {
  await setCaps({ per_pr: '5', per_day: '5' });
  const pull = open('a');
  await reviewed(pull);
  const closed = `update review_pull_requests set state = 'closed', closed_at = now() where binding_id = ? and pull_number = ? returning id`;
  await world.sql(closed, [world.bindingId, pull.number]);
  const sweep = () => world.stack.temporal.client.workflow.execute('reviewSweep', { workflowId: `test:${newId()}`, taskQueue: 'bulk' });
  await sweep();
  expect(await openCaps()).toEqual([['review-day', price, '0']]);

  const yesterday = `update budget_windows set cap_key = regexp_replace(cap_key, '[^:]*$', to_char((now() at time zone 'UTC')::date - 1, 'YYYY-MM-DD')) where cap_key like 'review-day%' returning id`;
  await world.sql(yesterday);
  await sweep();
  expect([await openCaps(), (await budgets.windows()).map(capOf).toSorted()]).toEqual([
    [],
    [
      ['review-day', price, '0'],
      ['review-pr', price, '0'],
    ],
  ]);

  await world.sql(
    "update review_pull_requests set state = 'open', closed_at = null where binding_id = ? and pull_number = ? returning id",
    [world.bindingId, pull.number],
  );
  pushTo(world.scene.repository, pull, { files: { 'src/b.ts': 'const b = 2;\n' } });
  world.answers = {};
  await reviewed(pull);
  // A summary and two passes more.
  expect((await openCaps()).toSorted()).toEqual([
    ['review-day', '0.3', '0'],
    ['review-pr', '0.7', '0'],
  ]);
});
