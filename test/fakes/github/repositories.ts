import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

/** A file of a commit: text, bytes, or with a mode (120000: a symbolic link; 160000: a submodule, its text a commit's id). Null removes it. */
export type FakeFile =
  | string
  | Buffer
  | null
  | { readonly mode: '100644' | '100755' | '120000' | '160000'; readonly content: string | Buffer };

export interface CommitOptions {
  readonly branch: string;
  readonly files: Readonly<Record<string, FakeFile>>;
  readonly message?: string;
  /** Branches or shas; the branch itself unless given. `[]`: a commit without a past. */
  readonly from?: readonly string[];
}

const environment = {
  ...process.env,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
};

/** A real bare repository, served as the host serves its own: partial clones, any object by its id, and no push to `refs/pull`. */
export function initRepository(folder: string): void {
  mkdirSync(folder, { recursive: true });
  gitIn(folder, 'init', '--quiet', '--bare', '--initial-branch=main');
  const settings = {
    'http.receivepack': 'true',
    'uploadpack.allowFilter': 'true',
    'uploadpack.allowAnySHA1InWant': 'true',
    'receive.hideRefs': 'refs/pull',
    'receive.denyNonFastForwards': 'false',
    'gc.auto': '0',
  };
  for (const [name, value] of Object.entries(settings)) gitIn(folder, 'config', name, value);
}

/** Runs git in a repository of the fake and gives its output, without the line feed at its end. */
export function gitIn(folder: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: folder, env: environment, maxBuffer: 512 * 1024 * 1024 })
    .toString()
    .replace(/\n$/, '');
}

/** The same as bytes, as they are. */
export function bytesIn(folder: string, ...args: readonly string[]): Buffer {
  return execFileSync('git', args, { cwd: folder, env: environment, maxBuffer: 512 * 1024 * 1024 });
}

/** Whether git succeeds. */
export function gitPasses(folder: string, ...args: readonly string[]): boolean {
  return spawnSync('git', args, { cwd: folder, env: environment }).status === 0;
}

let seconds = 1_700_000_000;

/** Commits files to a branch and gives the sha. */
export function commitTo(folder: string, { branch, files, message = 'Change', from }: CommitOptions): string {
  const isThere = gitPasses(folder, 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}`);
  const parents = from ?? (isThere ? [branch] : []);
  const shas = parents.map((parent) => gitIn(folder, 'rev-parse', '--verify', `${parent}^{commit}`));
  importInto(folder, [`reset refs/heads/${branch}\n`, ...commitOf(branch, { files, message, shas })]);
  return gitIn(folder, 'rev-parse', `refs/heads/${branch}`);
}

/** Commits one after another to a branch that is there, by one process. */
export function commitAllTo(folder: string, branch: string, changes: readonly Readonly<Record<string, FakeFile>>[]): void {
  const parts = changes.flatMap((files, at) =>
    commitOf(branch, { files, message: `Change ${at}`, shas: at === 0 ? [gitIn(folder, 'rev-parse', branch)] : [] }),
  );
  importInto(folder, parts);
}

function importInto(folder: string, parts: readonly (string | Buffer)[]): void {
  const input = Buffer.concat(parts.map((part) => Buffer.from(part)));
  execFileSync('git', ['fast-import', '--quiet', '--force'], { cwd: folder, env: environment, input });
}

interface CommitParts {
  readonly files: Readonly<Record<string, FakeFile>>;
  readonly message: string;
  /** Parents; none: what the same stream has committed before to the branch, if anything. */
  readonly shas: readonly string[];
}

function commitOf(branch: string, { files, message, shas }: CommitParts): (string | Buffer)[] {
  seconds += 60;
  const parts: (string | Buffer)[] = [`commit refs/heads/${branch}\n`];
  parts.push(`committer Ada <ada@example.com> ${seconds} +0000\n`, ...dataOf(message));
  shas.forEach((sha, at) => parts.push(`${at === 0 ? 'from' : 'merge'} ${sha}\n`));
  for (const [path, file] of Object.entries(files)) parts.push(...changeOf(path, file));
  return parts;
}

function changeOf(path: string, file: FakeFile): (string | Buffer)[] {
  const quoted = `"${path.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
  if (file === null) return [`D ${quoted}\n`];
  if (typeof file === 'string' || Buffer.isBuffer(file)) return [`M 100644 inline ${quoted}\n`, ...dataOf(file)];
  if (file.mode === '160000') return [`M 160000 ${file.content.toString()} ${quoted}\n`];
  return [`M ${file.mode} inline ${quoted}\n`, ...dataOf(file.content)];
}

function dataOf(content: string | Buffer): (string | Buffer)[] {
  const bytes = Buffer.from(content);
  return [`data ${bytes.length}\n`, bytes, '\n'];
}
