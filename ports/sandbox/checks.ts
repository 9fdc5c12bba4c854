import { launchJailed, resultFd } from './launch.ts';
import { probeJail } from './probe.ts';
import { supervise } from './supervise.ts';

/** Commands of a repository to run on its own files. */
export interface CheckJob {
  /** A tar archive of the files. */
  readonly archive: Buffer;
  /** For `/bin/sh`, one after the other in the folder of the files; the first one that fails is the last. */
  readonly commands: readonly string[];
  /** Variables that the commands see, in addition to PATH, HOME and LANG. */
  readonly env: Readonly<Record<string, string>>;
  readonly memoryMb: number;
  readonly cpuMs: number;
}

/** The outcome of checks. `output`: the end of what they printed, with the values of `env` masked. */
export type CheckReply =
  | { readonly kind: 'passed'; readonly output: string }
  | { readonly kind: 'failed'; readonly command: string; readonly code: number; readonly output: string }
  | { readonly kind: 'limit'; readonly reason: 'cpu' | 'memory' | 'output' | 'crash'; readonly output: string }
  | { readonly kind: 'unavailable' };

const maxOutputBytes = 4 * 1024 * 1024;
const shownChars = 4_000;
const tmpMb = 1_024;
const ownMemoryMb = 32;
const nameForm = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/**
 * Runs commands on an archive in the strict jail: no network, nothing of this machine except `/usr`, no token. Variables are passed on stdin, since arguments
 * are visible to every user of the machine. Throws the signal's reason when it is aborted, after all processes have been killed.
 */
export async function runChecks(job: CheckJob, signal: AbortSignal): Promise<CheckReply> {
  if (!(await probeJail())) return { kind: 'unavailable' };
  signal.throwIfAborted();
  const limits = {
    ...{ cpuSeconds: Math.ceil(job.cpuMs / 1_000) + 1, dataMb: job.memoryMb * 2 + 1_024 },
    ...{ fileMb: 256, processes: 256, tmpMb },
  };
  const child = launchJailed(['/bin/sh', '-c', unpack], limits);
  const ended = await supervise(child, {
    limits: { memoryMb: job.memoryMb + ownMemoryMb, cpuMs: job.cpuMs },
    signal,
    maxBytes: maxOutputBytes,
    start: () => child.stdin?.end(Buffer.concat([Buffer.from(`${preamble(job)}\n`), job.archive])),
  });
  const output = blotted(ended.told.toString(), Object.values(job.env)).slice(-shownChars);
  if (ended.over !== null) return { kind: 'limit', reason: ended.over, output };
  const told = ended.result.toString().trim();
  if (told === 'passed') return { kind: 'passed', output };
  const [, at = '', code = ''] = /^failed (\d+) (\d+)$/.exec(told) ?? [];
  const command = job.commands[Number(at)];
  if (at === '' || command === undefined) return { kind: 'limit', reason: 'crash', output };
  return { kind: 'failed', command, code: Number(code), output };
}

/** `read` of a POSIX shell takes no byte beyond its line, so that tar gets the rest. */
const unpack = [
  'IFS= read -r script || exit 1',
  'mkdir /tmp/repository && cd /tmp/repository && tar -x --no-same-owner -f - || exit 1',
  `eval "$(printf %s "$script" | base64 -d)" </dev/null`,
].join('\n');

function preamble({ commands, env }: CheckJob): string {
  const variables = Object.entries(env)
    .filter(([name]) => nameForm.test(name))
    .map(([name, value]) => `export ${name}=${quoted(value)}`);
  const runs = commands.map(
    (command, at) => `/bin/sh -c ${quoted(command)} ${resultFd}>&- || { echo "failed ${at} $?" >&${resultFd}; exit 0; }`,
  );
  return Buffer.from([...variables, 'unset script', ...runs, `echo passed >&${resultFd}`].join('\n')).toString('base64');
}

function quoted(text: string): string {
  return `'${text.replaceAll('\0', '').replaceAll("'", `'\\''`)}'`;
}

function blotted(output: string, values: readonly string[]): string {
  return values.filter((value) => value.length >= 4).reduce((text, value) => text.replaceAll(value, '***'), output);
}
