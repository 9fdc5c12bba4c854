import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { commitTo } from '../fakes/github/repositories.ts';
import { openPull, pushTo } from '../fakes/github/scene.ts';
import { found, openReviews, voted, type ReviewWorld } from './review-world.ts';

let world: ReviewWorld;
const prompts = { pass: [] as string[], verify: [] as string[] };

const lines = (count: number) => Array.from({ length: count }, (_, at) => `const a${at + 1} = ${at + 1};\n`).join('');
const wrong = (more = '') =>
  lines(60).replace('const a10 = 10;', 'const a10 = wrong;').replace('const a50 = 50;\n', `const a50 = 50;\n${more}`);

beforeAll(async () => {
  const files = { 'src/a.ts': lines(60), '.longhaul/review.md': 'Mind the tenth line.\n' };
  world = await openReviews({ files, binding: { workspace_config: { clone: 'full', max_clone_mb: 10 } } });
});
beforeEach(() => {
  world.host.onRequest = null;
  world.host.requests.length = 0;
  for (const kept of Object.values(prompts)) kept.length = 0;
  world.answers = {
    pass: (prompt) => {
      prompts.pass.push(prompt);
      return prompt.includes('wrong')
        ? found({ path: 'src/a.ts', line: 10, quote: 'const a10 = wrong;', title: 'It goes wrong' })
        : found();
    },
    verify: (prompt) => {
      prompts.verify.push(prompt);
      return voted(true);
    },
  };
});
afterAll(async () => {
  expect(world?.host.mistakes).toEqual([]);
  await world?.stop();
});

async function reviewed(number: number) {
  const run = await world.ended(await world.review(number));
  expect(run).toMatchObject({ status: 'succeeded', error: null });
  return run.output!.json!;
}

const askedFor = (end: string) => world.host.requests.filter(({ route }) => route.endsWith(end)).length;

/** 130 files more than one page of the list holds. */
const many = Object.fromEntries(Array.from({ length: 130 }, (_, at) => [`src/more/f${at}.ts`, `export const more = ${at};\n`]));

test.each([
  ['git is refused', async () => void (world.host.onRequest = ({ route }) => (route.startsWith('git ') ? { before: 403 } : null))],
  [
    'the repository is larger than it may be',
    async () => {
      // Nothing packs these any smaller.
      const files = Object.fromEntries(['a', 'b'].map((name) => [`${name}.bin`, randomBytes(8 * 1024 * 1024)]));
      commitTo(world.scene.repository.folder, { branch: 'main', files });
    },
  ],
])(
  'where %s, a pull request is reviewed by the list of its files, with instructions and surroundings of the same host',
  async (name, make) => {
    await make();
    const branch = `b-${name.length}`;
    const pull = openPull(world.scene.repository, {
      branch,
      files: { ...many, 'src/a.ts': wrong(), 'src/big.ts': '// x\n'.repeat(300_000) },
    });

    const output = await reviewed(pull.number);

    expect(output).toMatchObject({ mode: 'full', head_sha: pull.headSha, files: { changed: 132 } });
    expect(output.findings).toMatchObject([{ path: 'src/a.ts', start_line: 10, placement: 'inline' }]);
    expect(pull.comments.map(({ path, line }) => [path, line])).toEqual([['src/a.ts', 10]]);
    expect([askedFor('/files'), askedFor('/compare/{basehead}')]).toEqual([2, 1]);
    expect(askedFor('/contents/{path}')).toBeLessThanOrEqual(52);
    expect(prompts.pass.some((prompt) => prompt.includes('Mind the tenth line.'))).toBe(true);
    // No line of the diff, which shows three around a change.
    expect(prompts.verify.some((prompt) => prompt.includes('const a16 = 16;'))).toBe(true);

    pushTo(world.scene.repository, pull, { files: { 'src/a.ts': wrong('const b = 1;\n') } });
    expect(await reviewed(pull.number)).toMatchObject({ mode: 'incremental', counts: { carried: 1, inline: 0 } });
    expect(pull.comments).toHaveLength(1);
  },
);
