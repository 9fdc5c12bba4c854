import { spawn, type ChildProcess } from 'node:child_process';
import { constants, existsSync, openSync } from 'node:fs';
import { Writable } from 'node:stream';
import { seccompProgram } from './seccomp.ts';
import { childrenOf } from './watch.ts';

/** Limits of a jailed process, all enforced by the kernel, in addition to what the parent watches. */
export interface JailLimits {
  readonly cpuSeconds: number;
  /** Private writable memory of one process (RLIMIT_DATA). */
  readonly dataMb: number;
  /** Maximum size of a file, in /tmp (RLIMIT_FSIZE). */
  readonly fileMb: number;
  readonly processes: number;
  /** Size of /tmp; 64 by default. */
  readonly tmpMb?: number;
}

/** Descriptors of a launched process besides the standard three. */
export const nodeFd = 3;
export const resultFd = 4;
const seccompFd = 5;

const nobody = 65_534;
const bubblewrap = '/usr/bin/bwrap';
const prlimit = '/usr/bin/prlimit';
const bash = '/bin/bash';
const defaultTmpMb = 64;

/** How a program names the Node binary of this process: by descriptor, since `nobody` may not reach a checkout of mode 0700. */
export const nodeProgram = process.platform === 'linux' ? `/proc/self/fd/${nodeFd}` : process.execPath;

/** The first to be killed when the machine runs out of memory; inherited descriptors closed; no core file. */
const prelude = [
  '{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null',
  'if [ -n "$BASH_VERSION" ]; then for f in /proc/self/fd/*; do n=${f##*/}; [ "$n" -gt 5 ] 2>/dev/null && eval "exec $n>&-"; done; fi',
  'ulimit -c 0',
].join('; ');
/** 64 descriptors, no file writes, a limit of total CPU time: the limits of a child without a jail. */
const plainLimits = 'ulimit -n 64; ulimit -f 0; ulimit -t 65';

/** Whether this machine has the components of a jail; only the probe shows whether it works. */
export function hasJailParts(): boolean {
  return process.platform === 'linux' && [bubblewrap, prlimit, bash].every(existsSync) && seccompProgram(process.arch) !== null;
}

/** Starts a program without a jail: an empty environment, `nobody` when this process is root, few descriptors, no file writes. */
export function launchPlain(program: readonly string[]): ChildProcess {
  return start([...shell(`${prelude}; ${plainLimits}`), ...program], false);
}

/**
 * Starts a program in a jail: separate user, pid, net, ipc, uts, cgroup and mount namespaces, no capabilities, a read-only root of /usr, a private /tmp, an
 * empty environment, and a seccomp program. Limits are set inside, where the count of processes is the jail's own (Linux 5.14 and later; the probe checks it).
 */
export function launchJailed(program: readonly string[], limits: JailLimits): ChildProcess {
  const bounds = [
    `--cpu=${limits.cpuSeconds}`,
    `--data=${limits.dataMb * 1024 * 1024}`,
    `--fsize=${limits.fileMb * 1024 * 1024}`,
    `--nproc=${limits.processes}`,
    '--nofile=64',
    '--core=0',
    '--memlock=0',
    '--msgqueue=0',
  ];
  return start([...shell(prelude), bubblewrap, ...jail(limits.tmpMb ?? defaultTmpMb), '--', prlimit, ...bounds, '--', ...program], true);
}

const readable = ['/bin', '/sbin', '/lib', '/lib64', '/lib32', '/etc/alternatives', '/etc/ld.so.cache'];
const jail = (tmpMb: number): readonly string[] => [
  ...['--unshare-all', '--unshare-user', '--disable-userns', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
  ...['--uid', String(nobody), '--gid', String(nobody), '--hostname', 'sandbox', '--clearenv'],
  ...['--setenv', 'PATH', '/usr/local/bin:/usr/bin:/bin', '--setenv', 'HOME', '/tmp', '--setenv', 'LANG', 'C.UTF-8'],
  ...['--ro-bind', '/usr', '/usr', ...readable.flatMap((path) => ['--ro-bind-try', path, path])],
  ...['--proc', '/proc', '--dev', '/dev', '--remount-ro', '/dev'],
  ...['--size', String(tmpMb * 1024 * 1024), '--tmpfs', '/tmp', '--remount-ro', '/', '--chdir', '/tmp'],
  ...['--seccomp', String(seccompFd)],
];

function shell(script: string): string[] {
  return [existsSync(bash) ? bash : '/bin/sh', '-c', `${script}; exec "$@"`, 'sandbox'];
}

const jailed = new WeakSet<ChildProcess>();
let openedNode: number | null = null;

/** One descriptor of the Node binary for all children of this process. */
function openNode(): number {
  openedNode ??= openSync(process.execPath, constants.O_RDONLY);
  return openedNode;
}

function start([command = '', ...args]: readonly string[], isJailed: boolean): ChildProcess {
  const isRoot = process.getuid?.() === 0;
  const child = spawn(command, args, {
    cwd: '/',
    env: {},
    stdio: ['pipe', 'pipe', 'pipe', openNode(), 'pipe', ...(isJailed ? ['pipe' as const] : [])],
    ...(isRoot ? { uid: nobody, gid: nobody } : {}),
  });
  if (isJailed) jailed.add(child);
  for (const stream of child.stdio) stream?.on('error', () => undefined); // a killed child leaves EPIPE behind
  child.on('error', () => undefined); // `close` reports it again
  const filter: unknown = child.stdio.at(seccompFd); // the type covers only five
  if (isJailed && filter instanceof Writable) filter.end(seccompProgram(process.arch));
  return child;
}

/**
 * Ends a launched process and, in a jail, everything in it. Safe to repeat. In a jail the first process inside is killed first, so that bubblewrap lives to
 * reap it: an orphan would stay a zombie wherever the first process of a container does not reap.
 */
export function kill(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const inside = jailed.has(child) ? childrenOf(child.pid) : [];
  for (const pid of inside) killPid(pid);
  if (inside.length === 0) child.kill('SIGKILL');
  else setTimeout(() => child.kill('SIGKILL'), 1_000).unref(); // by then it has ended, or it hangs
}

function killPid(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has already ended
  }
}
