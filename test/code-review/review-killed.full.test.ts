import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openPull } from '../fakes/github/scene.ts';
import { until } from '../support/temporal.ts';
import { found, openReviews, stageOf, voted, worded, type AskedStage, type EndedRun, type ReviewWorld } from './review-world.ts';
import { matrixTest, oneOfEach } from '../chaos/whole.ts';

let world: ReviewWorld;
let pulls = 0;

const lines = (name: string) => Array.from({ length: 60 }, (_, at) => `const ${name}${at + 1} = ${at + 1};\n`).join('');
const files = { 'src/a.ts': lines('a'), 'src/b.ts': lines('b') };

beforeAll(async () => {
  world = await openReviews({ files });
});
beforeEach(() => {
  world.answers = {};
  world.asked.length = 0;
  world.host.onRequest = null;
});
afterAll(() => world?.stop());

/** A pull request with two findings that stand and one that does not. */
function openFaulty(): number {
  const change = (name: string, line: number) =>
    lines(name).replace(`const ${name}${line} = ${line};`, `const ${name}${line} = wrong${line};`);
  pulls += 1;
  world.answers = {
    summary: () => worded('It goes wrong.'),
    pass: (prompt) =>
      prompt.includes('This pass looks for: wrong')
        ? found(
            { path: 'src/a.ts', line: 10, quote: 'const a10 = wrong10;', title: 'First' },
            { path: 'src/b.ts', line: 20, quote: 'const b20 = wrong20;', title: 'Second' },
            { path: 'src/b.ts', line: 20, quote: 'const b20 = wrong20;', title: 'Refuted', category: 'tests' },
          )
        : found(),
    verify: (prompt) => voted(!prompt.includes('Refuted')),
  };
  return openPull(world.scene.repository, { branch: `b${pulls}`, files: { 'src/a.ts': change('a', 10), 'src/b.ts': change('b', 20) } })
    .number;
}

function expectWhole(run: EndedRun): void {
  expect(run).toMatchObject({ status: 'succeeded', error: null });
  expect(run.output?.json?.counts).toMatchObject({ raw: 3, gated: 3, refuted: 1, inline: 2 });
  expect(run.output?.json?.findings.map(({ title }) => title)).toEqual(['First', 'Second']);
}

/** Each model call is a step with one row, one message and one line in the ledger of usage, whatever was repeated. */
async function expectOnce(runId: string): Promise<void> {
  await until(async () => (await world.sql('select 1 from review_answers where run_id = ?', [runId])).length === 0);
  const [counts] = await world.sql<{ steps: number; messages: number; entries: number }>(
    `select (select count(*)::int from run_steps where run_id = ? and kind = 'model' and status = 'succeeded') as steps,
            (select count(*)::int from messages where run_id = ? and role = 'assistant') as messages,
            (select count(distinct call_key)::int from usage_entries where run_id = ? and kind = 'llm') as entries`,
    [runId, runId, runId],
  );
  // One summary, two passes, two votes on each of three findings; then the closing message.
  expect(counts).toMatchObject({ steps: 9, messages: 10 });
  expect(counts?.entries).toBeGreaterThanOrEqual(9);
}

async function killAndGoOn(): Promise<void> {
  await world.stack.kill('worker-bulk');
  await world.stack.start('worker-bulk');
}

test.each(oneOfEach(['verify', 'summary', 'pass'] as const satisfies readonly AskedStage[], () => 'stage'))(
  'a worker killed while a model answers in stage %s: the review ends as if nothing had happened, and no kept answer is asked for again',
  async (stage) => {
    const number = openFaulty();
    const own = world.answers[stage];
    let held = true;
    const isHeld = (prompt: string) => held && stageOf(prompt) === stage;
    world.answers[stage] = (prompt) => (isHeld(prompt) ? { fault: { kind: 'hang' } } : (own?.(prompt) ?? worded('')));
    const runId = await world.review(number, { post: false });
    await until(() => world.asked.includes(stage));
    const keptBefore = world.asked.filter((each) => each !== stage).length;

    held = false;
    await killAndGoOn();
    const run = await world.ended(runId);

    expectWhole(run);
    await expectOnce(runId);
    const order: AskedStage[] = ['summary', 'pass', 'verify'];
    const earlier = order.slice(0, order.indexOf(stage));
    expect(world.asked.filter((each) => earlier.includes(each))).toHaveLength(keptBefore);
  },
);

matrixTest('a worker killed while it reads the diff reads it again', async () => {
  const number = openFaulty();
  let fetches = 0;
  world.host.onRequest = async ({ route }) => {
    if (route.includes('git-upload-pack') && ++fetches === 1) await killAndGoOn();
    return null;
  };

  const runId = await world.review(number, { post: false });
  const run = await world.ended(runId);

  expect(fetches).toBeGreaterThan(1);
  expectWhole(run);
  await expectOnce(runId);
});

matrixTest('a worker that is frozen in the middle of a review, and goes on when another try has its place, changes nothing', async () => {
  const number = openFaulty();
  const own = world.answers.pass;
  let held = true;
  world.answers.pass = (prompt) => (held ? { ...own?.(prompt), first_token_ms: 3_000 } : (own?.(prompt) ?? found()));
  const runId = await world.review(number, { post: false });
  await until(() => world.asked.includes('pass'));
  const attempt = async () => {
    const { raw } = await world.stack.temporal.client.workflow.getHandle(`run:${runId}`).describe();
    return Math.max(0, ...(raw.pendingActivities ?? []).map((pending) => pending.attempt ?? 0));
  };

  await world.stack.kill('worker-bulk', 'SIGSTOP');
  await until(async () => (await attempt()) >= 2);
  held = false;
  await world.stack.kill('worker-bulk', 'SIGCONT');
  const run = await world.ended(runId);

  expectWhole(run);
});

test('a run that is cancelled in the middle of a review ends cancelled, and keeps nothing', async () => {
  const number = openFaulty();
  world.answers.verify = () => ({ fault: { kind: 'hang' } });
  const runId = await world.review(number, { post: false });
  await until(() => world.asked.includes('verify'));

  await world.stack.request('POST', `/runs/${runId}/cancel`);
  const run = await world.ended(runId);

  expect(run).toMatchObject({ status: 'cancelled' });
  await until(async () => (await world.sql('select 1 from review_answers where run_id = ?', [runId])).length === 0);
});
