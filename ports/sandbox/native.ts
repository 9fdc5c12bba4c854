import { existsSync } from 'node:fs';
import type { CodeJob } from './job.ts';
import { javascriptDriver, javascriptStdin } from './javascript-driver.ts';
import { nodeProgram, resultFd, type JailLimits } from './launch.ts';

const pythons = ['/usr/bin/python3', '/usr/local/bin/python3'];
/** Memory that an interpreter uses before the program has any. */
const ownMemoryMb = { javascript: 64, python: 16, shell: 8 } as const;

/** Counted by the kernel although never touched: V8 reserves address space for its code. */
const reservedMb = { javascript: 1_024, python: 128, shell: 128 } as const;

/** A program for the jail: its arguments, its stdin, and the kernel's limits. */
export interface NativeProgram {
  readonly command: readonly string[];
  readonly stdin: string;
  readonly limits: JailLimits;
  /** Memory that all of its processes may use together, watched from outside. */
  readonly memoryMb: number;
}

/** Returns null when the language is not installed on this machine. */
export function nativeProgram(job: CodeJob): NativeProgram | null {
  const command = commandOf(job);
  if (command === null) return null;
  const memoryMb = job.memoryMb + ownMemoryMb[job.language];
  return {
    command,
    stdin: stdinOf(job),
    // More than the watch allows for all processes together: a backstop for growth between two checks.
    limits: { cpuSeconds: Math.ceil(job.cpuMs / 1000) + 1, dataMb: memoryMb * 2 + reservedMb[job.language], fileMb: 64, processes: 64 },
    memoryMb,
  };
}

function stdinOf(job: CodeJob): string {
  const input = job.input ?? null;
  if (job.language === 'javascript') return javascriptStdin(job);
  return JSON.stringify(job.language === 'shell' ? input : { code: job.code, input });
}

function commandOf(job: CodeJob): readonly string[] | null {
  switch (job.language) {
    case 'javascript':
      return [
        nodeProgram,
        `--max-old-space-size=${job.memoryMb}`,
        '--max-semi-space-size=2',
        '--disable-warning=ExperimentalWarning',
        '--eval',
        javascriptDriver,
      ];
    case 'python': {
      const python = pythons.find(existsSync);
      return python === undefined ? null : [python, '-I', '-c', pythonDriver];
    }
    case 'shell':
      return ['/bin/sh', '-c', job.code];
    default:
      return job.language satisfies never;
  }
}

const pythonDriver = `
import sys, os, json, ast
job = json.loads(sys.stdin.buffer.read())
def end(reply):
    sys.stdout.flush(); sys.stderr.flush()
    data = json.dumps(reply, default=str).encode()
    while data:
        data = data[os.write(${resultFd}, data):]
    os._exit(0)
scope = {'__name__': '__main__', 'input': job['input']}
try:
    tree = ast.parse(job['code'], 'code.py')
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, 'code.py', 'exec'), scope)
    value = None if last is None else eval(compile(ast.Expression(last.value), 'code.py', 'eval'), scope)
    try:
        end({'value': json.loads(json.dumps(value, default=str, allow_nan=False))})
    except (TypeError, ValueError):
        end({'value': str(value)})
except MemoryError:
    end({'limit': 'memory'})
except RecursionError:
    end({'limit': 'stack'})
except SystemExit as error:
    end({'value': None} if error.code in (None, 0) else {'error': 'SystemExit: ' + str(error.code)})
except BaseException as error:
    line = None
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == 'code.py': line = at.tb_lineno
        at = at.tb_next
    end({'error': type(error).__name__ + ': ' + str(error)[:2000] + ('' if line is None else ' (line %d)' % line)})
`;
