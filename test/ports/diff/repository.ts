import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A repository of a test: trees that are committed one after the other, and what git says of their differences. */
export interface TestRepository {
  readonly folder: string;
  write(path: string, content: string | Buffer): void;
  link(path: string, target: string): void;
  remove(path: string): void;
  makeExecutable(path: string): void;
  git(...args: string[]): string;
  commit(): string;
  /** What `git diff` prints between two commits, as the product asks for it. */
  diff(from: string, to: string): Buffer;
  [Symbol.dispose](): void;
}

const environment = {
  ...process.env,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
};

export function createRepository(): TestRepository {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-diff-'));
  const run = (args: readonly string[]) =>
    execFileSync('git', ['-c', 'core.autocrlf=false', ...args], { cwd: folder, env: environment, maxBuffer: 1 << 30 });
  run(['init', '-q', '-b', 'main']);

  return {
    folder,
    write(path, content) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    },
    link: (path, target) => symlinkSync(target, join(folder, path)),
    remove: (path) => rmSync(join(folder, path), { recursive: true }),
    makeExecutable: (path) => chmodSync(join(folder, path), 0o755),
    git: (...args) => run(args).toString(),
    commit() {
      run(['add', '-A']);
      run(['commit', '-q', '--allow-empty', '-m', 'x']);
      return run(['rev-parse', 'HEAD']).toString().trim();
    },
    diff: (from, to) => run(['diff', '--no-color', '--no-ext-diff', '--no-textconv', '-M', '--full-index', from, to]),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
