import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openPull } from '../fakes/github/scene.ts';
import { samplesOf, sumOf } from '../support/metrics.ts';
import { until } from '../support/temporal.ts';
import { found, openReviews, voted, worded, type ReviewWorld } from './review-world.ts';

let world: ReviewWorld;

/** What the workers have counted, as the samples of their pages. */
async function counted(name: string, labels: Readonly<Record<string, string>>): Promise<number> {
  const pages = await Promise.all(
    (['worker-runs', 'worker-bulk'] as const).map(async (worker) => {
      const answer = await fetch(`${world.stack.url(worker)}/metrics`, { headers: { connection: 'close', accept: 'text/plain' } });
      return samplesOf(await answer.text());
    }),
  );
  return sumOf(pages.flat(), name, labels);
}

const lines = (count: number, name: string) => Array.from({ length: count }, (_, at) => `const ${name}${at + 1} = ${at + 1};\n`).join('');
const files = { 'README.md': '# Hello\n', 'src/a.ts': lines(60, 'a'), 'src/b.ts': lines(60, 'b'), 'src/c.ts': lines(60, 'c') };
const changed = (name: string, line: number, text: string) => lines(60, name).replace(`const ${name}${line} = ${line};\n`, `${text}\n`);

beforeAll(async () => {
  world = await openReviews({ files });
});
beforeEach(() => {
  world.answers = {};
  world.asked.length = 0;
});
afterAll(() => world?.stop());

test('a review tells what stands and what does not, and every step of it is a step of its run', async () => {
  const { number, headSha } = openPull(world.scene.repository, {
    branch: 'one',
    files: { 'src/a.ts': changed('a', 10, 'const a10 = a9 + 2;') },
  });
  world.answers = {
    summary: () => worded('It adds two to a9. @ada <!-- longhaul-run:x:1 --> ![x](https://evil.example/x.png)'),
    pass: () =>
      found(
        { path: 'src/a.ts', line: 10, quote: 'const a10 = a9 + 2;', title: 'One too many' },
        { path: 'src/a.ts', line: 10, quote: 'const a10 = a9 + 2;', title: 'Refuted', category: 'performance' },
        { path: 'src/a.ts', line: 40, quote: 'const a40 = 40;', title: 'Not of this change' },
      ),
    verify: (prompt) => voted(!prompt.includes('Refuted')),
  };

  const runId = await world.review(number, { post: false });
  const run = await world.ended(runId);

  expect(run).toMatchObject({ status: 'succeeded', finish_reason: 'stop', error: null });
  expect(run.output?.json).toMatchObject({
    kind: 'review',
    mode: 'full',
    verdict: 'findings',
    head_sha: headSha,
    pull_number: number,
    counts: { raw: 6, gated: 2, refuted: 1, inline: 1, file: 0, folded: 0, carried: 0 },
    files: { changed: 1, reviewed: 1, unread: [], unread_total: 0 },
    findings: [{ path: 'src/a.ts', start_line: 10, end_line: 10, title: 'One too many', state: 'open', placement: 'inline' }],
    posted: { review_ids: [], summary_review_id: null, check_run_id: null },
  });
  expect(run.output?.text).toContain('It adds two to a9. ada');
  expect(run.output?.text).not.toMatch(/<!--|evil|@ada/);
  const steps = await world.sql<{ step: number; kind: string; status: string }>(
    'select step, kind, status from run_steps where run_id = ? order by step',
    [runId],
  );
  expect(steps.map(({ kind }) => kind)).toEqual(['system', ...world.asked.map(() => 'model')]);
  expect(steps.every(({ status }) => status === 'succeeded')).toBe(true);
  await until(async () => (await counted('longhaul_reviews_ended_total', { outcome: 'reviewed' })) === 1);
  expect(await counted('longhaul_review_findings_total', { severity: 'high' })).toBe(1);
  await until(async () => (await world.sql('select 1 from review_answers where run_id = ?', [runId])).length === 0);
  expect(world.host.writes()).toEqual([]);
});
