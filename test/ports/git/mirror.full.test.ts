import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { deadlineIn } from '../../../ports/deadline.ts';
import { decodePatch } from '../../../ports/diff/decode-patch.ts';
import { parsePatch } from '../../../ports/diff/patch.ts';
import { createEgress } from '../../../ports/egress/egress.ts';
import { cloneUrl, createMirrors, type CloneMode, type Mirror, type Mirrors } from '../../../ports/git/mirrors.ts';
import { fetchCommit, fetchPull } from '../../../ports/git/pull.ts';
import { changedFiles, diffBytes, readBlob } from '../../../ports/git/read.ts';
import { versionOf } from '../../../ports/git/version.ts';
import { createGitHub } from '../../../ports/github/client.ts';
import { startGitHubHost, type GitHubHost } from '../../fakes/github/index.ts';
import { commitAllTo, type commitTo, gitIn } from '../../fakes/github/repositories.ts';
import { createScene, forkOf, openPull, pushTo, type Scene } from '../../fakes/github/scene.ts';
import type { FakePull } from '../../fakes/github/state.ts';

const egress = createEgress();
const MB = 1024 * 1024;
let host: GitHubHost;
let root: string;
let serial = 0;

beforeAll(async () => {
  host = await startGitHubHost();
  root = await mkdtemp(join(tmpdir(), 'lh-mirrors-'));
});

afterEach(() => {
  host.onRequest = null;
  host.requests.length = 0;
});

afterAll(async () => {
  host.close();
  await egress.close();
  await rm(root, { recursive: true, force: true });
});

const signal = () => deadlineIn(120_000);

interface Opened {
  readonly scene: Scene;
  readonly mirrors: Mirrors;
  readonly folder: string;
  open(options?: { readonly clone?: CloneMode; readonly maxBytes?: number; readonly bindingId?: string }): Promise<Mirror>;
}

function openScene(files: Parameters<typeof commitTo>[1]['files'] = { 'README.md': '# Hello\n' }, maxBytes = 1024 * MB): Opened {
  serial += 1;
  const scene = createScene(host, { owner: 'octo', name: `repo-${serial}`, files });
  const folder = join(root, `m${serial}`);
  const mirrors = createMirrors({ folder, maxBytes });
  const github = createGitHub({ egress, apiUrl: host.env['GITHUB_API_URL']!, bucket: null });
  const app = { appId: String(scene.app.id), privateKey: scene.app.privateKey };
  const client = github.repository({
    app,
    installationId: scene.installation.id,
    repositoryId: scene.repository.id,
    fullName: scene.fullName,
  });
  return {
    scene,
    mirrors,
    folder,
    open: ({ clone = 'partial', maxBytes: own = 512 * MB, bindingId = 'binding' } = {}) =>
      mirrors.open({
        bindingId,
        url: cloneUrl(host.env['GITHUB_GIT_URL']!, scene.fullName),
        token: (until, isNew) => client.token(until, isNew),
        clone,
        maxBytes: own,
      }),
  };
}

const fetchOf = (mirror: Mirror, { number, baseRef }: FakePull, clone: CloneMode = 'partial') =>
  fetchPull(mirror, { pullNumber: number, baseRef, clone }, signal());

async function patchesOf(mirror: Mirror, pull: FakePull) {
  const { headSha, mergeBaseSha } = await fetchOf(mirror, pull);
  const { bytes } = await diffBytes(mirror, { from: mergeBaseSha!, to: headSha, maxBytes: 64 * MB }, signal());
  return parsePatch(decodePatch(bytes));
}

test.each(['partial', 'shallow', 'full'] as const)('a %s mirror compares the head with where it parted from the base', async (clone) => {
  const { scene, open } = openScene({ 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'b\n' });
  const { folder } = scene.repository;
  const parted = gitIn(folder, 'rev-parse', 'main');
  const pull = openPull(scene.repository, { branch: 'topic', files: { 'a.txt': 'one\n2\nthree\n' } });
  commitAllTo(
    folder,
    'main',
    Array.from({ length: 120 }, (_, at) => ({ 'b.txt': `b${at}\n` })),
  );

  const mirror = await open({ clone });
  const commits = await fetchOf(mirror, pull, clone);

  expect(commits).toEqual({ headSha: pull.headSha, baseSha: gitIn(folder, 'rev-parse', 'main'), mergeBaseSha: parted });
  const { bytes } = await diffBytes(mirror, { from: parted, to: pull.headSha, maxBytes: MB }, signal());
  expect(parsePatch(decodePatch(bytes)).map(({ path, status }) => ({ path, status }))).toEqual([{ path: 'a.txt', status: 'modified' }]);
});

test('contents come when they are asked for, and are read without a checkout', async () => {
  const { scene, open } = openScene({
    'big.bin': Buffer.alloc(3 * MB, 7),
    '.longhaul/review.md': 'Be kind.\n',
    'src': { mode: '120000', content: '/etc/passwd' },
  });
  const pull = openPull(scene.repository, { branch: 'topic', files: { 'a.txt': 'a\n' } });

  const mirror = await open();
  const { baseSha } = await fetchOf(mirror, pull);
  const before = sizeOf(mirror.folder);
  const rules = await readBlob(mirror, { sha: baseSha, path: '.longhaul/review.md', maxBytes: 64 * 1024 }, signal());
  const link = await readBlob(mirror, { sha: baseSha, path: 'src', maxBytes: 100 }, signal());
  const cut = await readBlob(mirror, { sha: baseSha, path: 'big.bin', maxBytes: 1_000 }, signal());

  expect(before).toBeLessThan(MB);
  expect(rules?.bytes.toString()).toBe('Be kind.\n');
  expect(link?.bytes.toString()).toBe('/etc/passwd');
  expect([cut?.bytes.length, cut?.isTruncated]).toEqual([1_000, true]);
  for (const path of ['none', '.longhaul', '', '../x', ':(glob)*', '*'])
    await expect(readBlob(mirror, { sha: baseSha, path, maxBytes: 100 }, signal())).resolves.toBeNull();
  await expect(readBlob(mirror, { sha: '--help', path: 'a', maxBytes: 100 }, signal())).rejects.toMatchObject({ kind: 'failed' });
});

test('a fork is read at its right head, also with its repository deleted', async () => {
  const { scene, open } = openScene();
  const fork = forkOf(host, scene.repository, 'someone');
  const pull = openPull(scene.repository, { branch: 'topic', from: fork, files: { 'a.txt': 'fork\n' } });
  host.state.repositories.splice(host.state.repositories.indexOf(fork), 1);
  pull.headRepository = null;

  expect((await fetchOf(await open(), pull)).headSha).toBe(pull.headSha);
});

test('after a force push the head is the new one, and the old one can still be compared', async () => {
  const { scene, open } = openScene({ 'a.txt': 'a\n' });
  const pull = openPull(scene.repository, { branch: 'topic', files: { 'a.txt': 'b\n' } });
  const mirror = await open();
  const { headSha: old } = await fetchOf(mirror, pull);
  pushTo(scene.repository, pull, { from: ['main'], files: { 'a.txt': 'c\n' } });

  const { headSha } = await fetchOf(mirror, pull);

  expect(headSha).toBe(pull.headSha);
  await expect(fetchCommit(mirror, { sha: old, clone: 'partial' }, signal())).resolves.toBe(true);
  await expect(fetchCommit(mirror, { sha: 'f'.repeat(40), clone: 'partial' }, signal())).resolves.toBe(false);
  const { bytes } = await diffBytes(mirror, { from: old, to: headSha, maxBytes: MB }, signal());
  expect(bytes.toString()).toContain('-b\n+c\n');
});

test('renames, odd names, CRLF, links, submodules, LFS pointers and files without an end come as they are', async () => {
  const long = Array.from({ length: 50 }, (_, at) => `line ${at}\n`).join('');
  const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n';
  const { scene, open } = openScene({ 'old name.txt': long, 'crlf.txt': 'a\r\nb\r\n', 'ü/日本.txt': 'x\n', 'lfs.bin': pointer });
  const files = {
    'old name.txt': null,
    'new "name".txt': long.replace('line 7', 'line seven'),
    'crlf.txt': 'a\r\nc\r\n',
    'ü/日本.txt': 'y',
    'tab\tname.txt': 'z\n',
    'link': { mode: '120000', content: '../../etc/passwd' },
    'module': { mode: '160000', content: 'a'.repeat(40) },
    'lfs.bin': pointer.replace('abc', 'def'),
  } as const;
  const pull = openPull(scene.repository, { branch: 'topic', files });

  const mirror = await open();
  const patches = await patchesOf(mirror, pull);
  const { headSha, mergeBaseSha } = await fetchOf(mirror, pull);
  const names = await changedFiles(mirror, { from: mergeBaseSha!, to: headSha }, signal());

  expect(patches.find(({ path }) => path === 'new "name".txt')).toMatchObject({ status: 'renamed', previousPath: 'old name.txt' });
  expect(patches.find(({ path }) => path === 'crlf.txt')?.hunks[0]?.lines.at(-1)?.text).toBe('c\r');
  expect(patches.find(({ path }) => path === 'ü/日本.txt')?.hunks[0]?.lines.at(-1)).toMatchObject({ text: 'y', noNewline: true });
  expect(names.map(({ path }) => path).toSorted()).toEqual(patches.map(({ path }) => path).toSorted());
  expect(names.find(({ path }) => path === 'new "name".txt')).toEqual({
    path: 'new "name".txt',
    previousPath: 'old name.txt',
    added: 1,
    removed: 1,
  });
});

test('350 files and 25000 lines are compared through git, where the host’s own diff ends', async () => {
  const { scene, open } = openScene();
  const many = Object.fromEntries(
    Array.from({ length: 350 }, (_, at) => [`f/${at}.txt`, Array.from({ length: 72 }, (_line, n) => `${at} ${n}\n`).join('')]),
  );
  const pull = openPull(scene.repository, { branch: 'topic', files: many });

  const patches = await patchesOf(await open(), pull);

  expect(patches.length).toBe(350);
  expect(patches.reduce((sum, { hunks }) => sum + (hunks[0]?.newLines ?? 0), 0)).toBe(25_200);
});

test('a diff beyond its limit is cut, and says so', async () => {
  const { scene, open } = openScene();
  const pull = openPull(scene.repository, { branch: 'topic', files: { 'a.txt': 'line\n'.repeat(10_000) } });
  const mirror = await open();
  const { headSha, mergeBaseSha } = await fetchOf(mirror, pull);

  const { bytes, isTruncated } = await diffBytes(mirror, { from: mergeBaseSha!, to: headSha, maxBytes: 5_000 }, signal());

  expect([bytes.length, isTruncated]).toEqual([5_000, true]);
});

test('a file of 100 MB is binary and costs little memory; a repository above its limit leaves no mirror', async () => {
  const { scene, open, folder } = openScene();
  const noise = Buffer.alloc(100 * MB);
  for (let at = 0; at < noise.length; at += 64) noise.writeUInt32LE((at * 2_654_435_761) >>> 0, at);
  const pull = openPull(scene.repository, { branch: 'topic', files: { 'big.dat': noise, 'a.txt': 'a\n' } });

  const patches = await patchesOf(await open(), pull);
  expect(patches.map(({ path, binary }) => ({ path, binary }))).toEqual([
    { path: 'a.txt', binary: false },
    { path: 'big.dat', binary: true },
  ]);

  const small = await open({ bindingId: 'small', maxBytes: 2 * MB, clone: 'full' });
  await expect(fetchOf(small, pull, 'full')).rejects.toMatchObject({ kind: 'too_large', isRetryable: false });
  expect(readdirSync(folder)).not.toContain('small');
});

test('a token that is refused is made anew once; then git says so, and no file, argument or error holds it', async () => {
  const { scene, open } = openScene();
  const pull = openPull(scene.repository, { branch: 'topic', files: { 'a.txt': 'a\n' } });
  const mirror = await open();
  const seen: string[] = [];
  host.onRequest = ({ route }) => {
    if (!route.startsWith('git ')) return;
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) seen.push(argumentsOf(pid));
  };
  await fetchOf(mirror, pull);
  host.state.tokens.clear();
  await expect(fetchOf(mirror, pull)).resolves.toMatchObject({ headSha: pull.headSha });
  const tokens = [...host.state.tokens.keys()];

  host.onRequest = ({ route }) => (route.startsWith('git ') ? { before: 401 } : null);
  const error = await fetchOf(mirror, pull).catch((thrown: unknown) => thrown);

  expect(error).toMatchObject({ kind: 'refused', isRetryable: false });
  const all = `${String(error)} ${seen.join(' ')} ${filesOf(mirror.folder).join(' ')}`;
  expect(seen.join(' ')).toContain('git-remote-http');
  for (const token of [...tokens, ...host.state.tokens.keys()]) {
    expect(all).not.toContain(token);
    expect(all).not.toContain(Buffer.from(`x-access-token:${token}`).toString('base64'));
  }
});

test('a host that is silent ends the command with everything it has started', async () => {
  const { scene, open } = openScene();
  const pull = openPull(scene.repository, { branch: 'topic', files: { 'a.txt': 'a\n' } });
  const mirror = await open();
  const cancel = new AbortController();
  host.onRequest = ({ route }) => {
    if (!route.startsWith('git ')) return null;
    setTimeout(() => cancel.abort(new Error('stopped')), 200);
    return { delayMs: 20_000 };
  };

  const fetched = fetchPull(mirror, { pullNumber: pull.number, baseRef: 'main', clone: 'partial' }, cancel.signal);

  await expect(fetched).rejects.toThrow('stopped');
  const left = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && argumentsOf(name).includes(scene.fullName));
  expect(left).toEqual([]);
});

test('what the host does not have is told apart from what fails', async () => {
  const { scene, open } = openScene();
  const pull = openPull(scene.repository, { branch: 'topic', files: { 'a.txt': 'a\n' } });
  const mirror = await open();

  await expect(fetchOf(mirror, { ...pull, baseRef: 'none' })).rejects.toMatchObject({ kind: 'no_ref' });
  await expect(fetchOf(mirror, { ...pull, number: 77 })).rejects.toMatchObject({ kind: 'no_ref' });
  for (const baseRef of ['a:b', '*', '--upload-pack=x', 'a b', 'a..b~1'])
    await expect(fetchOf(mirror, { ...pull, baseRef })).rejects.toMatchObject({ kind: 'no_ref' });
  host.onRequest = ({ route }) => (route.startsWith('git ') ? { before: 503 } : null);
  await expect(fetchOf(mirror, pull)).rejects.toMatchObject({ kind: 'unreachable', isRetryable: true });
});

test('all mirrors together stay below their limit: the one used longest ago goes, none that is in use', async () => {
  const { scene, open, mirrors, folder } = openScene({ 'a.bin': randomish(2 * MB) }, 5 * MB);
  const pull = openPull(scene.repository, { branch: 'topic', files: { 'a.txt': 'a\n' } });
  for (const bindingId of ['one', 'two']) await fetchOf(await open({ bindingId, clone: 'full' }), pull, 'full');
  const old = new Date(Date.now() - 3_600_000);
  await utimes(join(folder, 'one', 'longhaul-used'), old, old);

  await fetchOf(await open({ bindingId: 'three', clone: 'full' }), pull, 'full');
  expect(readdirSync(folder).toSorted()).toEqual(['three', 'two']);

  await utimes(join(folder, 'two', 'longhaul-used'), old, old);
  await expect(mirrors.sweep(1_800_000)).resolves.toBe(1);
  expect(readdirSync(folder)).toEqual(['three']);
});

test('an old git is refused with what is needed', () => {
  expect(versionOf('git version 2.39.5\n')).toBe('2.39.5');
  expect(versionOf('git version 3.0.1 (Apple Git-1)')).toBe('3.0.1');
  expect(() => versionOf('git version 2.38.1')).toThrow(/needs git 2\.39 or later/);
  expect(() => versionOf('nothing')).toThrow(expect.objectContaining({ kind: 'unavailable' }));
});

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
}

function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

function randomish(bytes: number): Buffer {
  const noise = Buffer.alloc(bytes);
  let state = 1;
  for (let at = 0; at + 4 <= bytes; at += 4) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    noise.writeUInt32LE(state, at);
  }
  return noise;
}
