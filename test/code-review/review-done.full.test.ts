import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openPull, pushTo } from '../fakes/github/scene.ts';
import { commitAllTo, commitTo, gitIn } from '../fakes/github/repositories.ts';
import type { FakePull } from '../fakes/github/state.ts';
import { commentable } from '../../ports/diff/anchors.ts';
import { decodePatch } from '../../ports/diff/decode-patch.ts';
import { parsePatch, type FilePatch } from '../../ports/diff/patch.ts';
import { releasesOf } from '../ports/diff/releases.ts';
import { found, openReviews, voted, type ReviewWorld, type ScriptedFinding } from './review-world.ts';

let world: ReviewWorld;
let pulls = 0;

const lines = (name: string, count = 60) => Array.from({ length: count }, (_, at) => `const ${name}${at + 1} = ${at + 1};\n`).join('');
const wrong = (name: string, line: number) =>
  lines(name).replace(`const ${name}${line} = ${line};`, `const ${name}${line} = wrong${line};`);
const names = ['a', 'b', 'c', 'd', 'e'];
const files = Object.fromEntries(names.map((name) => [`src/${name}.ts`, lines(name)]));

beforeAll(async () => {
  world = await openReviews({ files });
});
beforeEach(() => {
  world.asked.length = 0;
  world.host.requests.length = 0;
  world.answers = { pass: (prompt) => found(...(prompt.includes('wrong10') ? [theFault] : [])) };
});
afterAll(async () => {
  expect(world?.host.mistakes).toEqual([]);
  await world?.stop();
});

const theFault = { path: 'src/a.ts', line: 10, quote: 'const a10 = wrong10;', title: 'It goes wrong' };

/** A pull request of three files, one of them faulty, so that a push of one file is no full review. */
function openFaulty(): FakePull {
  pulls += 1;
  const changed = { 'src/a.ts': wrong('a', 10), 'src/b.ts': wrong('b', 20), 'src/c.ts': wrong('c', 30) };
  return openPull(world.scene.repository, { branch: `b${pulls}`, files: changed });
}

async function reviewed(pull: FakePull, options: { readonly full?: boolean } = {}) {
  const run = await world.ended(await world.review(pull.number, options));
  expect(run).toMatchObject({ status: 'succeeded', error: null });
  return run.output!.json!;
}

const findingsOf = (pull: FakePull) =>
  world.sql<{ state: string; comment_id: string | null; fingerprint: string }>(
    `select f.state, f.comment_id::text, f.fingerprint from review_findings f join review_pull_requests p on p.id = f.pull_request_id
      where p.binding_id = ? and p.pull_number = ? order by f.id`,
    [world.bindingId, pull.number],
  );
const rootComments = (pull: FakePull) => pull.comments.filter(({ inReplyTo }) => inReplyTo === null);

test('a rebase onto 200 foreign commits, without a change by the author, asks no model and writes no comment', async () => {
  const pull = openFaulty();
  await reviewed(pull);
  const { folder } = world.scene.repository;
  const mine = Object.fromEntries(
    ['src/a.ts', 'src/b.ts', 'src/c.ts'].map((path) => [path, gitIn(folder, 'show', `${pull.headSha}:${path}`)]),
  );
  commitAllTo(
    folder,
    'main',
    Array.from({ length: 200 }, (_, at) => ({ [`other/f${at}.ts`]: `const x = ${at};\n` })),
  );
  // One of them changes a neighbour of the author's line, another one moves all lines.
  const foreign = (text: string) => `// moved\n// down\n${text.replace('const a8 = 8;', 'const a8 = eight;')}`;
  commitTo(folder, { branch: 'main', files: { 'src/a.ts': foreign(lines('a')) } });
  const sha = commitTo(folder, {
    branch: 'rebased',
    from: ['main'],
    files: {
      ...mine,
      'src/a.ts': foreign(`${mine['src/a.ts']}\n`),
      'src/b.ts': `${mine['src/b.ts']}\n`,
      'src/c.ts': `${mine['src/c.ts']}\n`,
    },
  });
  pushTo(world.scene.repository, pull, { sha });
  const before = { comments: pull.comments.length, reviews: pull.reviews.length, asked: world.asked.length };
  world.host.requests.length = 0;

  const output = await reviewed(pull);

  const [ofGit, ofApi] = [true, false].map((isGit) =>
    world.host.requests.filter(({ path }) => path.includes('.git/') === isGit).map(({ method, path }) => `${method} ${path}`),
  );
  expect(ofApi?.length).toBeLessThanOrEqual(6);
  // Commits and trees; then, of a partial mirror, the contents that are compared.
  expect(ofGit?.filter((request) => request.includes('/info/refs')).length).toBeLessThanOrEqual(2);
  expect(output).toMatchObject({ mode: 'no_change', head_sha: sha, counts: { raw: 0, carried: 1 } });
  expect({ comments: pull.comments.length, reviews: pull.reviews.length, asked: world.asked.length }).toEqual(before);
  commitTo(folder, { branch: 'main', files });
});

test('only the hunk that a push changes is judged again, and what stands is carried', async () => {
  const pull = openFaulty();
  await reviewed(pull);
  const prompts: string[] = [];
  world.answers.pass = (prompt) => {
    prompts.push(prompt);
    return found({ path: 'src/c.ts', line: 40, quote: 'const c40 = wrong40;', title: 'Another' }, theFault);
  };

  pushTo(world.scene.repository, pull, { files: { 'src/c.ts': wrong('c', 30).replace('const c40 = 40;', 'const c40 = wrong40;') } });
  const output = await reviewed(pull);

  expect(output).toMatchObject({ mode: 'incremental', counts: { raw: 4, gated: 1, inline: 1, carried: 1 } });
  expect(prompts.every((prompt) => prompt.includes('wrong40') && !prompt.includes('wrong10') && !prompt.includes('wrong30'))).toBe(true);
  expect(rootComments(pull).map(({ path, line }) => [path, line])).toEqual([
    ['src/a.ts', 10],
    ['src/c.ts', 40],
  ]);
});

test('a dismissed finding stays away after other words, moved lines and a full review', async () => {
  const pull = openFaulty();
  await reviewed(pull);
  await world.sql(
    `update review_findings f set state = 'dismissed' from review_pull_requests p where p.id = f.pull_request_id and p.binding_id = ? and p.pull_number = ? returning f.id`,
    [world.bindingId, pull.number],
  );
  pushTo(world.scene.repository, pull, { files: { 'src/a.ts': `// moved\n${wrong('a', 10)}` } });
  world.answers.pass = () => found({ ...theFault, line: 11, title: 'Said otherwise', category: 'security' });

  const output = await reviewed(pull, { full: true });

  expect(output).toMatchObject({
    mode: 'full',
    counts: { inline: 0, file: 0, folded: 0, dismissed: 1 },
    findings: [{ state: 'dismissed' }],
  });
  expect(rootComments(pull)).toHaveLength(1);
  expect(await findingsOf(pull)).toHaveLength(1);
});

test('repaired code gets one reply, its thread is resolved and the finding fixed; broken again, the same thread is reopened', async () => {
  const pull = openFaulty();
  await reviewed(pull);
  const [comment] = rootComments(pull);

  world.answers.verify = () => voted(false);
  pushTo(world.scene.repository, pull, { files: { 'src/a.ts': wrong('a', 10).replace('wrong10', 'ten') } });
  expect(await reviewed(pull)).toMatchObject({ counts: { fixed: 1, carried: 0 }, verdict: 'clean' });
  expect(pull.comments.filter(({ inReplyTo }) => inReplyTo === comment!.id)).toHaveLength(1);
  expect(comment!.thread.isResolved).toBe(true);
  expect(await findingsOf(pull)).toMatchObject([{ state: 'fixed' }]);

  world.answers.verify = () => voted(true);
  pushTo(world.scene.repository, pull, { files: { 'src/a.ts': wrong('a', 10) } });
  expect(await reviewed(pull)).toMatchObject({ verdict: 'findings', findings: [{ state: 'open', comment_id: comment!.id }] });
  expect(comment!.thread.isResolved).toBe(false);
  expect(rootComments(pull)).toHaveLength(1);
  expect(await findingsOf(pull)).toMatchObject([{ state: 'open', comment_id: String(comment!.id) }]);
});

test('findings that were lost are rebuilt from the markers of our App, and told no second time', async () => {
  const pull = openFaulty();
  await reviewed(pull);
  const kept = await findingsOf(pull);
  const mine = `p.binding_id = '${world.bindingId}' and p.pull_number = ${pull.number}`;
  await world.sql(`delete from review_findings f using review_pull_requests p where p.id = f.pull_request_id and ${mine} returning f.id`);
  await world.sql(`delete from review_files f using review_pull_requests p where p.id = f.pull_request_id and ${mine} returning f.path`);
  await world.sql(`update review_pull_requests p set last_head_sha = null, last_merge_base_sha = null where ${mine} returning p.id`);
  const forged = {
    ...pull.comments[0]!,
    id: 77,
    author: { login: 'mallory', type: 'User' as const, id: 3 },
    body: `x\n\n<!-- longhaul:${world.bindingId}:${'e'.repeat(64)} -->`,
  };
  pull.comments.push(forged);

  await reviewed(pull, { full: true });

  expect((await findingsOf(pull)).map(({ fingerprint, comment_id }) => [fingerprint, comment_id])).toEqual(
    kept.map(({ fingerprint, comment_id }) => [fingerprint, comment_id]),
  );
  expect(rootComments(pull).filter(({ id }) => id !== 77)).toHaveLength(1);
});

test('350 files and 25,000 lines are read by git; what was not read is named', async () => {
  const many = Object.fromEntries(
    Array.from({ length: 350 }, (_, at) => [
      `gen/f${String(at).padStart(3, '0')}.ts`,
      Array.from({ length: 72 }, (_line, line) => `export const value${line} = compute(${at}, ${line});\n`).join(''),
    ]),
  );
  const extra = { 'gen/image.bin': Buffer.from([0, 1, 2, 3]), 'gen/package-lock.json': '{"a":1}\n', 'node_modules/x/y.js': 'x();\n' };
  pulls += 1;
  const pull = openPull(world.scene.repository, { branch: `b${pulls}`, files: { ...many, ...extra } });
  world.answers.pass = () => found();

  const output = await reviewed(pull);

  expect(output.files.changed).toBe(353);
  expect(world.host.requests.filter(({ route }) => route.endsWith('/files'))).toEqual([]);
  const { reviewed: read, unread, unread_total: total } = output.files;
  expect(read + total).toBe(353);
  expect(read).toBeGreaterThan(200);
  expect(unread.filter(({ reason }) => reason !== 'limit')).toEqual([
    { path: 'gen/image.bin', reason: 'binary' },
    { path: 'gen/package-lock.json', reason: 'generated' },
    { path: 'node_modules/x/y.js', reason: 'filtered' },
  ]);
  expect(output.verdict).toBe(unread.some(({ reason }) => reason === 'limit') ? 'partial' : 'clean');
});

test('two releases of a real package are a pull request: what is found in them stands on lines that the host takes', async () => {
  const { before, after } = releasesOf('undici');
  const { folder } = world.scene.repository;
  const gone = Object.fromEntries([...before.keys()].filter((path) => !after.has(path)).map((path) => [path, null]));
  commitTo(folder, { branch: 'release', from: ['main'], files: Object.fromEntries(before) });
  pulls += 1;
  const pull = openPull(world.scene.repository, {
    branch: `b${pulls}`,
    baseRef: 'release',
    files: { ...Object.fromEntries(after), ...gone },
  });
  const patches = parsePatch(decodePatch(Buffer.from(gitIn(folder, 'diff', '-M', '--full-index', 'release', pull.headSha))));
  const picks = patches.flatMap((patch) => pickOf(patch, after.get(patch.path)?.toString() ?? '')).slice(0, 40);
  world.answers.pass = (prompt) =>
    found(
      ...picks
        .filter(({ path, quote }) => prompt.includes(path) && prompt.includes(quote))
        .map((pick) => ({ ...pick, title: `Wrong in ${pick.path}` })),
    );

  const output = await reviewed(pull);

  expect(output.files.changed).toBeGreaterThan(100);
  expect(output.counts.inline).toBeGreaterThan(3);
  const where = new Map(patches.map((patch) => [patch.path, commentable(patch)]));
  for (const { path, line, side } of rootComments(pull))
    expect(where.get(path)?.hunkOf({ side: side ?? 'RIGHT', startLine: line ?? 0, line: line ?? 0 }) ?? null).not.toBeNull();
  expect(rootComments(pull)).toHaveLength(output.counts.inline);
});

/** An added line that stands in its file once, as a fault that a model reports; none of tests and declarations. */
function pickOf(patch: FilePatch, text: string): ScriptedFinding[] {
  const line = patch.hunks
    .flatMap(({ lines: all }) => all)
    .find(({ kind, text: own }) => kind === 'added' && own.trim().length > 20 && text.split(own).length === 2);
  return line && patch.path.endsWith('.js') ? [{ path: patch.path, line: line.newLine ?? 0, quote: line.text.trim() }] : [];
}
