import { fork, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';

/** What a child process may use, and its arguments. */
export interface LaunchOptions {
  readonly args: readonly string[];
  /** Size of V8's old generation. V8 ends a child that exceeds it. */
  readonly heapMb: number;
  /** Maximum private memory that the kernel gives the child. */
  readonly kernelMb: number;
  /** Paths that it may read; the whole file system by default. */
  readonly readable?: readonly string[];
}

const isLinux = process.platform === 'linux';

/**
 * Starts a script as a child with an empty environment, no descriptor of this process except its own channel, no permission to write files, start processes or
 * load native code, and no core file. It ends with this process: the kernel ensures that, or the child itself when its second argument is `by-itself`.
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

/**
 * Returns a command prefix that makes the kernel end the child together with the process that started it, however that one ends and whatever the child is
 * doing.
 */
export function deathPrefix(): readonly string[] {
  const setpriv = '/usr/bin/setpriv';
  return isLinux && existsSync(setpriv) ? [setpriv, '--pdeathsig', 'KILL', '--'] : [];
}

function kernelPrefix(kernelMb: number): readonly string[] {
  const prlimit = '/usr/bin/prlimit';
  return isLinux && existsSync(prlimit) ? [prlimit, '--core=0', `--data=${kernelMb * 1024 * 1024}`, '--'] : [];
}
