import type { ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import PQueue from 'p-queue';
import { tagInexact } from '../../workflows/contracts/tools/exact-json.ts';
import { maxOutputBytes, type CodeJob, type CodeReply } from './job.ts';
import { kill, launchJailed } from './launch.ts';
import { nativeProgram, type NativeProgram } from './native.ts';
import { probeJail } from './probe.ts';
import { quickjsOwnMemoryMb, readQuickjsFiles, sendJob, startQuickjs, type QuickjsFiles } from './quickjs.ts';
import { supervise } from './supervise.ts';

export type { CodeJob, CodeReply } from './job.ts';

/** Where one process runs code: a separate process for each program, used once. */
export interface Sandbox {
  /**
   * Returns how the program ended, or `unavailable` when this machine can't isolate it as requested. Throws the signal's reason when it is aborted, after
   * everything of the program has been killed.
   */
  run(job: CodeJob, signal: AbortSignal): Promise<CodeReply | { readonly kind: 'unavailable'; readonly message: string }>;
  close(): void;
}

/** Whether `strict` isolation is available here; determined by running a jail, once per process. */
export const hasStrictIsolation = probeJail;

const warmChildren = 2;
const atOnce = Math.max(2, availableParallelism());

/** `hasJail` is replaced in tests by a machine without bubblewrap. */
export function createSandbox({ hasJail = probeJail }: { readonly hasJail?: () => Promise<boolean> } = {}): Sandbox {
  const queue = new PQueue({ concurrency: atOnce });
  const pool = createPool();

  return {
    async run(job, signal) {
      if (job.isolation === 'default' && job.language !== 'javascript')
        return { kind: 'unavailable', message: `${job.language} runs only in strict isolation` };
      const isJailed = await hasJail();
      const program = job.isolation === 'strict' ? nativeProgram(job) : null;
      if (job.isolation === 'strict' && !isJailed) return { kind: 'unavailable', message: 'this deployment has no strict isolation' };
      if (job.isolation === 'strict' && program === null)
        return { kind: 'unavailable', message: `${job.language} is not installed on this deployment` };

      return enqueued(queue, signal, async () => {
        if (program !== null) return runNative(program, job, signal);
        try {
          return await runQuickjs(pool.take(isJailed), job, signal);
        } finally {
          pool.fill(isJailed);
        }
      });
    },
    close: () => pool.close(),
  };
}

/** Creates the pool of children that have already loaded the interpreter; the first call starts them. */
function createPool() {
  const warm: ChildProcess[] = [];
  let files: QuickjsFiles | null = null;
  let isClosed = false;
  const start = (isJailed: boolean) => startQuickjs((files ??= readQuickjsFiles()), isJailed);
  const isAlive = (child: ChildProcess) => child.exitCode === null && child.signalCode === null && child.pid !== undefined;

  return {
    take(isJailed: boolean): ChildProcess {
      for (let child = warm.shift(); child; child = warm.shift()) if (isAlive(child)) return held(child, true);
      return start(isJailed);
    },
    fill(isJailed: boolean): void {
      if (isClosed) return;
      while (warm.filter(isAlive).length < warmChildren) warm.push(held(start(isJailed), false));
    },
    close(): void {
      isClosed = true;
      for (const child of warm.splice(0)) kill(child);
    },
  };
}

/** A waiting child does not keep this process alive; it exits when its stdin ends. */
function held(child: ChildProcess, isHeld: boolean): ChildProcess {
  if (isHeld) child.ref();
  else child.unref();
  for (const stream of child.stdio) {
    if (stream && 'ref' in stream && 'unref' in stream && typeof stream.ref === 'function' && typeof stream.unref === 'function') {
      if (isHeld) stream.ref();
      else stream.unref();
    }
  }
  return child;
}

async function runQuickjs(child: ChildProcess, job: CodeJob, signal: AbortSignal): Promise<CodeReply> {
  const limits = { memoryMb: job.memoryMb + quickjsOwnMemoryMb, cpuMs: job.cpuMs + 1_500 }; // the child itself interrupts at cpuMs
  // A reply is JSON, which may escape each character of its text.
  const ended = await supervise(child, { limits, signal, maxBytes: 6 * maxOutputBytes + 4_096, start: () => sendJob(child, job) });
  if (ended.over !== null) return { kind: 'limit', reason: ended.over, console: '' };
  const reply = asReply(parsed(ended.stdout));
  if (reply !== null) return reply;
  return { kind: 'limit', reason: ended.signal === 'SIGXCPU' || ended.signal === 'SIGKILL' ? 'cpu' : 'crash', console: '' };
}

async function runNative(program: NativeProgram, job: CodeJob, signal: AbortSignal): Promise<CodeReply> {
  const child = launchJailed(program.command, program.limits);
  const limits = { memoryMb: program.memoryMb, cpuMs: job.cpuMs };
  const ended = await supervise(child, { limits, signal, maxBytes: maxOutputBytes, start: () => child.stdin?.end(program.stdin) });
  const console = ended.told.toString('utf8');
  if (ended.over !== null) return { kind: 'limit', reason: ended.over, console };
  const result = parsed(ended.result);
  if (result && typeof result['error'] === 'string') return { kind: 'failed', message: result['error'], console };
  if (result && (result['limit'] === 'memory' || result['limit'] === 'stack')) return { kind: 'limit', reason: result['limit'], console };
  if (result && job.language !== 'shell') return { kind: 'done', value: result['value'] ?? null, console };
  if (ended.code === 128 + 24 || ended.code === 128 + 9) return { kind: 'limit', reason: 'cpu', console }; // SIGXCPU and SIGKILL of RLIMIT_CPU
  if (job.language === 'shell') return { kind: 'done', value: { exit_code: ended.code ?? -1 }, console };
  if (ended.code === 0) return { kind: 'done', value: null, console }; // it exited by itself, without a value
  return { kind: 'limit', reason: ended.code === 128 + 6 || ended.code === 128 + 5 ? 'memory' : 'crash', console }; // V8 aborts when its heap is full
}

function parsed(bytes: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(tagInexact(bytes.toString('utf8'), 'all')); // integers of Python are unbounded
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null; // it was killed while it wrote, or the program wrote something else here
  }
}

const limitReasons = ['cpu', 'memory', 'stack', 'output', 'crash'] as const;

function asReply(told: Record<string, unknown> | null): CodeReply | null {
  const console = told?.['console'];
  if (told === null || typeof console !== 'string') return null;
  const reason = limitReasons.find((known) => known === told['reason']);
  if (told['kind'] === 'done') return { kind: 'done', value: told['value'] ?? null, console };
  if (told['kind'] === 'failed') return { kind: 'failed', message: String(told['message']), console };
  return reason === undefined ? null : { kind: 'limit', reason, console };
}

/**
 * Runs one program when a slot is free. A waiting caller is removed when aborted; a running program keeps its slot until it ends, even when its caller has been
 * aborted, since its child lives until then.
 */
async function enqueued<R>(queue: PQueue, signal: AbortSignal, work: () => Promise<R>): Promise<R> {
  signal.throwIfAborted();
  const waiting = new AbortController();
  const leave = () => waiting.abort(signal.reason);
  const stopWaiting = () => signal.removeEventListener('abort', leave);
  signal.addEventListener('abort', leave);
  try {
    return await queue.add(
      () => {
        stopWaiting();
        return work();
      },
      { signal: waiting.signal },
    );
  } finally {
    stopWaiting();
  }
}
