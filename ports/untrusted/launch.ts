import { fork, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';

/** What a child process may have and is told. */
export interface LaunchOptions {
  readonly args: readonly string[];
  /** Of V8's old generation. V8 ends the child that goes over it. */
  readonly heapMb: number;
  /** Private memory that the kernel gives the child at most. */
  readonly kernelMb: number;
  /** What it may read; without it the whole file system. */
  readonly readable?: readonly string[];
}

const isLinux = process.platform === 'linux';

/**
 * Starts a script as a child with an empty environment, no descriptor of this process but its own channel, no right to write files, start
 * processes or load native code, and no core file. It ends with this process: the kernel sees to it, or the child itself where its second
 * argument is `by-itself`.
 */
export function launchChild(main: string, { args, heapMb, kernelMb, readable = ['*'] }: LaunchOptions): ChildProcess {
  const flags = [
    `--max-old-space-size=${heapMb}`,
    '--max-semi-space-size=8',
    '--disable-warning=ExperimentalWarning',
    '--permission',
    ...readable.map((path) => `--allow-fs-read=${path}`),
  ];
  const [program = process.execPath, ...before] = [...deathPrefix(), ...kernelPrefix(kernelMb), process.execPath];
  const endsItself = deathPrefix().length === 0;
  return fork(main, [...args, endsItself ? 'by-itself' : 'by-kernel'], {
    execPath: program,
    execArgv: [...before, ...flags, ...(endsItself ? ['--allow-worker'] : [])],
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
}

/** Words before a command: the kernel ends the child with the process that started it, however that one ends, whatever the child does at that time. */
export function deathPrefix(): readonly string[] {
  const setpriv = '/usr/bin/setpriv';
  return isLinux && existsSync(setpriv) ? [setpriv, '--pdeathsig', 'KILL', '--'] : [];
}

function kernelPrefix(kernelMb: number): readonly string[] {
  const prlimit = '/usr/bin/prlimit';
  return isLinux && existsSync(prlimit) ? [prlimit, '--core=0', `--data=${kernelMb * 1024 * 1024}`, '--'] : [];
}
