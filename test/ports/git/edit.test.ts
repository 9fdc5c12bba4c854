import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { archiveOf } from '../../../ports/git/archive.ts';
import { isPlainPath, makeCommit, readFileAt, type NewCommit } from '../../../ports/git/edit.ts';
import { GitError } from '../../../ports/git/git-error.ts';
import { createMirrors, type Mirror } from '../../../ports/git/mirrors.ts';
import { fetchPull } from '../../../ports/git/pull.ts';
import { commitOfRun, pushCommit, readPorcelain, remoteHead } from '../../../ports/git/push.ts';

const folder = mkdtempSync(join(tmpdir(), 'edit-'));
const remote = join(folder, 'remote.git');
const working = join(folder, 'working');
const signal = AbortSignal.timeout(240_000);
let mirror: Mirror;
let head: string;

function git(...args: string[]): string {
  return execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args], { cwd: working, encoding: 'utf8' }).trim();
}

beforeAll(async () => {
  mkdirSync(join(working, 'src/deep'), { recursive: true });
  execFileSync('git', ['init', '--quiet', '--bare', remote]);
  for (const setting of ['uploadpack.allowFilter', 'uploadpack.allowAnySHA1InWant'])
    execFileSync('git', ['-C', remote, 'config', setting, 'true']);
  git('init', '--quiet', '--initial-branch=main');
  writeFileSync(join(working, 'src/deep/a.js'), 'one\ntwo\n');
  writeFileSync(join(working, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(working, 'naïve name.txt'), 'n\n');
  symlinkSync('/etc/passwd', join(working, 'link'));
  git('add', '.');
  git('commit', '--quiet', '-m', 'base');
  git('push', '--quiet', remote, 'main');
  git('checkout', '--quiet', '-b', 'topic');
  writeFileSync(join(working, 'src/deep/a.js'), 'one\nTWO\n');
  git('commit', '--quiet', '-am', 'change');
  head = git('rev-parse', 'HEAD');
  git('push', '--quiet', remote, 'topic', 'HEAD:refs/pull/1/head');
  const mirrors = createMirrors({ folder: join(folder, 'mirrors'), maxBytes: 1e9 });
  const target = { bindingId: 'b', url: `file://${remote}`, token: () => Promise.resolve('t'), clone: 'partial' as const, maxBytes: 1e9 };
  mirror = await mirrors.open(target);
  await fetchPull(mirror, { pullNumber: 1, baseRef: 'main', clone: 'partial' }, signal);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function repair(change: Partial<NewCommit> = {}): NewCommit {
  return {
    parent: head,
    edits: [{ path: 'src/deep/a.js', bytes: Buffer.from('one\n2\n') }],
    message: 'Repair\n\nLonghaul-Run: run-1',
    author: { name: 'Longhaul', email: 'bot@example.com' },
    at: new Date('2026-12-01T00:00:00Z'),
    ...change,
  };
}

test('a commit holds its edits and nothing else, keeps modes and is the same however often it is made', async () => {
  const edits = [
    { path: 'src/deep/a.js', bytes: Buffer.from('one\n2\n') },
    { path: 'run.sh', bytes: Buffer.from('#!/bin/sh\nexit 0\n') },
    { path: 'new/näher.txt', bytes: Buffer.from('n') },
    { path: 'naïve name.txt', bytes: null },
  ];
  const sha = await makeCommit(mirror, repair({ edits }), signal);
  expect(await makeCommit(mirror, repair({ edits }), signal)).toBe(sha);
  expect(await pushCommit(mirror, { branch: 'whole', expected: null, sha }, signal)).toEqual({ kind: 'pushed' });

  git('fetch', '--quiet', remote, 'whole');
  const changed = git('-c', 'core.quotePath=false', 'diff', '--raw', '--abbrev=1', head, 'FETCH_HEAD');
  expect(changed.split('\n').map((line) => line.replace(/^:(\d+) (\d+) \S+ \S+ /, '$1 $2 '))).toEqual([
    '100644 000000 D\tnaïve name.txt',
    '000000 100644 A\tnew/näher.txt',
    '100755 100755 M\trun.sh',
    '100644 100644 M\tsrc/deep/a.js',
  ]);
  execFileSync('git', ['-C', remote, 'fsck', '--strict']);
});

test.each(['link', 'src', 'run.sh/x', '.git/config', 'a/../b', '.Git /hooks/x', 'GIT~1/x', '.g\u200cit/x', '.gitmodules', '/abs', 'a\\b'])(
  'what is no plain file is not edited: %j',
  async (path) => {
    const made = makeCommit(mirror, repair({ edits: [{ path, bytes: Buffer.from('x') }] }), signal);
    await expect(made).rejects.toThrow(GitError);
  },
);

test('paths of people are plain, and a file is read as the head has it', async () => {
  expect(['.github/x', 'a b/ü.ts', 'git.txt', '.gitignore', '.gitattributes'].filter((path) => !isPlainPath(path))).toEqual([]);
  expect((await readFileAt(mirror, { sha: head, path: 'src/deep/a.js', maxBytes: 100 }, signal))?.bytes.toString()).toBe('one\nTWO\n');
  expect(await readFileAt(mirror, { sha: head, path: 'link', maxBytes: 100 }, signal)).toBeNull();
  expect(await readFileAt(mirror, { sha: head, path: 'src/deep/a.js', maxBytes: 3 }, signal)).toBeNull();
});

test('a push in between is never overwritten, and a run’s own commit is known again', async () => {
  const sha = await makeCommit(mirror, repair(), signal);
  writeFileSync(join(working, 'other.txt'), 'somebody else\n');
  git('add', '.');
  git('commit', '--quiet', '-m', 'between');
  const between = git('rev-parse', 'HEAD');
  git('push', '--quiet', remote, 'topic');
  expect(await pushCommit(mirror, { branch: 'topic', expected: head, sha }, signal)).toEqual({ kind: 'moved' });
  expect(await remoteHead(mirror, 'topic', signal)).toBe(between);

  git('push', '--quiet', remote, 'topic:refs/pull/1/head');
  await fetchPull(mirror, { pullNumber: 1, baseRef: 'main', clone: 'partial' }, signal);
  const again = await makeCommit(mirror, repair({ parent: between }), signal);
  expect(await pushCommit(mirror, { branch: 'topic', expected: between, sha: again }, signal)).toEqual({ kind: 'pushed' });
  expect(await remoteHead(mirror, 'topic', signal)).toBe(again);
  expect(await commitOfRun(mirror, { since: between, head: again, runId: 'run-1' }, signal)).toBe(again);
  expect(await commitOfRun(mirror, { since: between, head: again, runId: 'run-2' }, signal)).toBeNull();
  expect(await remoteHead(mirror, 'nowhere', signal)).toBeNull();
});

test('a branch that is there already is not taken, and a host’s refusal is told', async () => {
  const sha = await makeCommit(mirror, repair(), signal);
  expect(await pushCommit(mirror, { branch: 'longhaul/1-abc', expected: null, sha }, signal)).toEqual({ kind: 'pushed' });
  expect(await pushCommit(mirror, { branch: 'longhaul/1-abc', expected: null, sha: head }, signal)).toEqual({ kind: 'moved' });
  // As git 2.39 prints what a protected branch of GitHub answers.
  const told = 'To https://github.com/o/r.git\n!\tabc:refs/heads/main\t[remote rejected] (protected branch hook declined)\nDone\n';
  expect(readPorcelain(told, 1)).toEqual({ kind: 'refused', reason: '(protected branch hook declined)' });
});

test('an archive holds all files of a commit, also those that a partial mirror lacks', async () => {
  const bytes = await archiveOf(mirror, { sha: head, maxBytes: 1e6 }, signal);
  const names = execFileSync('tar', ['-tf', '-'], { input: bytes, encoding: 'utf8' }).trim().split('\n');
  expect(names).toEqual(expect.arrayContaining(['run.sh', 'src/deep/a.js', 'link']));
  await expect(archiveOf(mirror, { sha: head, maxBytes: 100 }, signal)).rejects.toMatchObject({ kind: 'too_large' });
});
