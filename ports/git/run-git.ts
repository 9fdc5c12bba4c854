import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterMs } from '../deadline.ts';
import { saidOf } from '../github/host-error.ts';
import { deathPrefix } from '../untrusted/launch.ts';
import { GitError, kindOfWords } from './git-error.ts';
import { hardenedEnvironment, type GitAuth } from './hardening.ts';

export interface GitCommand {
  /** The bare repository. */
  readonly folder: string;
  readonly args: readonly string[];
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Maximum bytes of standard output; more than that ends the command. */
  readonly maxOutputBytes: number;
  /** Maximum size of a file that the command may write; null: it writes none. */
  readonly maxFileBytes: number | null;
  /** Null: the command must not reach the host. */
  readonly auth: GitAuth | null;
  /** Data for the standard input. */
  readonly input?: string | Buffer;
  /** Exit codes that count as success; only 0 by default. */
  readonly expected?: readonly number[];
}

export interface GitOutput {
  readonly bytes: Buffer;
  /** Whether there was more than `maxOutputBytes`. */
  readonly isTruncated: boolean;
  readonly code: number;
}

const maxWordsBytes = 16 * 1024;
const prlimit = '/usr/bin/prlimit';
const addressSpaceBytes = 2 * 1024 ** 3;

/**
 * Runs git in a separate process group, with the hardened environment and nothing of ours. At the time limit, on the signal, or at too much output the whole
 * group is killed. It ends with this process, too. Throws GitError, or the signal's reason.
 */
export function runGit(command: GitCommand): Promise<GitOutput> {
  return new Promise((resolve, reject) => {
    command.signal.throwIfAborted();
    const [program = 'git', ...args] = [...deathPrefix(), ...limits(command.maxFileBytes), 'git', ...command.args];
    const environment = hardenedEnvironment(command.folder, command.auth);
    const child = spawn(program, args, { cwd: command.folder, env: environment, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    const out = collector(command.maxOutputBytes);
    const words = collector(maxWordsBytes);
    let failure: unknown = null;

    const kill = () => killGroup(child.pid);
    const stop = afterMs(command.timeoutMs, () => {
      failure ??= new GitError('timeout', `git ${command.args[0]} took longer than ${command.timeoutMs} ms`);
      kill();
    });
    const abort = () => {
      failure ??= command.signal.reason;
      kill();
    };
    command.signal.addEventListener('abort', abort, { once: true });
    child.stdin.on('error', () => undefined).end(command.input ?? ''); // a killed child leaves EPIPE behind
    child.stdout.on('data', (part: Buffer) => void (out.add(part) || kill()));
    child.stderr.on('data', (part: Buffer) => void words.add(part));
    child.on('error', (error) => (failure ??= new GitError('unavailable', `git can't be started: ${saidOf(error.message)}`)));
    child.on('close', (code, signal) => {
      stop();
      command.signal.removeEventListener('abort', abort);
      kill(); // kills helpers that git has left behind
      if (failure !== null) return reject(failure);
      if (out.isTruncated()) return resolve({ bytes: out.bytes(), isTruncated: true, code: 0 });
      if ((command.expected ?? [0]).includes(code ?? -1)) return resolve({ bytes: out.bytes(), isTruncated: false, code: code ?? 0 });
      const told = words.bytes().toString();
      const kind = signal === 'SIGXFSZ' ? 'too_large' : kindOfWords(told);
      return reject(new GitError(kind, `git ${command.args[0]} failed (${code ?? signal}): ${saidOf(lastLine(told))}`));
    });
  });
}

function limits(maxFileBytes: number | null): readonly string[] {
  if (process.platform !== 'linux' || !existsSync(prlimit)) return [];
  return [prlimit, '--core=0', `--data=${addressSpaceBytes}`, `--fsize=${maxFileBytes ?? 0}`, '--'];
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // it has already ended
  }
}

function collector(maxBytes: number) {
  const parts: Buffer[] = [];
  let size = 0;
  return {
    /** False: there is more than fits. */
    add(part: Buffer): boolean {
      if (size <= maxBytes) parts.push(part);
      size += part.length;
      return size <= maxBytes;
    },
    isTruncated: () => size > maxBytes,
    bytes: () => Buffer.concat(parts).subarray(0, maxBytes),
  };
}

function lastLine(words: string): string {
  const lines = words.split('\n').filter((line) => line.trim() !== '');
  return lines.find((line) => line.startsWith('fatal:')) ?? lines.at(-1) ?? '';
}
