import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { usageOf } from '../sandbox/watch.ts';
import { launchChild } from './launch.ts';
import type { Answer, ChildMessage, JobMessage } from './messages.ts';
import type { WorkLimits } from './sorts.ts';
import { lowerPriority } from './lower-priority.ts';

/** How a job ended: answered; outgrown, when the job itself exceeded its limits; or lost, when it is not to blame. */
export type Ended =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'outgrown'; readonly reason: 'time' | 'memory' | 'crash'; readonly told: string }
  | { readonly kind: 'lost'; readonly reason: string; readonly hasBegun: boolean };

/** Size of V8's old generation: the same for every sort, since a child serves all of them. V8 ends a child that exceeds it. */
export const heapMb = 256;
/** Maximum private memory that the kernel gives a child, even when its parent checks too late. */
const kernelMb = 1_024;
/** A child that holds more than this between two jobs is replaced. */
const retireMb = 192;
/** Nice value of a child that gives way: beside others it gets a third of the processor time, and enough to start on a busy machine. */
const waysNice = 5;
const everyMs = 25;
/** Time for a child to start, and to load the code of a sort. */
const loadMs = 30_000;
/** A freeze of the parent does not count as the job's time. */
const maxPerPollMs = 10 * everyMs;

const main = fileURLToPath(new URL('./child-main.ts', import.meta.url));
const isLinux = process.platform === 'linux';
/** A full heap, or a refused allocation. */
const memorySignals: readonly NodeJS.Signals[] = ['SIGABRT', 'SIGTRAP', 'SIGILL'];
/** A stack overflow of native code, or an invalid memory access. */
const faultSignals: readonly NodeJS.Signals[] = ['SIGSEGV', 'SIGBUS'];

/**
 * A child process that does one job at a time: with an empty environment, no descriptor of this process except its own channel, no permission to write files,
 * start processes or load native code, and no core file. It keeps this process's event loop alive only while it has a job.
 */
export class WorkChild {
  /** Sorts whose code it has loaded. */
  readonly loaded = new Set<string>();
  readonly exited: Promise<void>;
  #givesWay = false;
  readonly #process: ChildProcess;
  #settle: (ended: Ended) => void = () => undefined;
  #begin: (cpuMs: number) => void = () => undefined;
  #hasBegun = false;
  #hasEnded: boolean;

  constructor(sortsModule: URL) {
    const child = launch(sortsModule);
    const exit = Promise.withResolvers<void>();
    this.#process = child;
    this.#hasEnded = child.pid === undefined;
    this.exited = exit.promise;
    child.on('message', (message: ChildMessage) => this.#hear(message));
    child.once('error', (error) => this.#end(this.#lost(error.message), exit));
    child.once('exit', (code, signal) => this.#end(this.#judgeExit(code, signal), exit));
    hold(child, false);
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Whether it has a lower priority than everything else on the machine. */
  get givesWay(): boolean {
    return this.#givesWay;
  }

  /** Lowers its priority permanently: raising it again takes a privilege that a process need not have. Best done before the child has started its threads. */
  giveWay(): void {
    const { pid } = this;
    // Without a process there is nothing to slow down; 0 would be this process.
    if (this.#givesWay || this.#hasEnded || pid === undefined) return;
    this.#givesWay = true;
    try {
      lowerPriority(waysNice, pid);
    } catch {
      // It has just ended; giving it a job will report that.
    }
  }

  /** False once it has ended or has grown so much that it should be replaced. */
  isFit(): boolean {
    return !this.#hasEnded && usageOf(this.pid ?? 0).memoryMb <= retireMb;
  }

  kill(reason = 'it was ended'): void {
    this.#hasEnded = true;
    this.#process.kill('SIGKILL');
    this.#settle(this.#lost(reason));
  }

  /** Never rejects. A job without an answer ends the child. */
  async run(message: JobMessage, limits: WorkLimits): Promise<Ended> {
    if (this.#hasEnded) return this.#lost('the child had ended');
    const ended = Promise.withResolvers<Ended>();
    const watch = supervise(this.#process, limits, (how) => {
      ended.resolve(how);
      this.kill();
    });
    this.#hasBegun = false;
    this.#settle = ended.resolve;
    this.#begin = (cpuMs) => {
      this.#hasBegun = true;
      this.loaded.add(message.sort);
      watch.begin(cpuMs);
    };
    hold(this.#process, true);
    this.#process.send(message, (error) => error && this.#settle(this.#lost(error.message)));
    const how = await ended.promise;
    watch.end();
    hold(this.#process, false);
    return how;
  }

  #hear(message: ChildMessage): void {
    if (message.kind === 'begun') this.#begin(message.cpuMs);
    else if (message.kind === 'unloaded') this.#settle(this.#lost(message.message));
    else this.#answer(message);
  }

  #answer(answer: Answer): void {
    if (answer.kind === 'problem' && answer.isLast) this.#hasEnded = true;
    this.#settle({ kind: 'answered', answer });
  }

  #end(how: Ended, exit: PromiseWithResolvers<void>): void {
    this.#hasEnded = true;
    this.#settle(how);
    exit.resolve();
  }

  #lost(reason: string): Ended {
    return { kind: 'lost', reason: reason.slice(0, 200), hasBegun: this.#hasBegun };
  }

  /** Derives the job's outcome from the death of the child: V8 and libc use signals of their own to end a process that can't go on. */
  #judgeExit(code: number | null, signal: NodeJS.Signals | null): Ended {
    if (signal === null || !this.#hasBegun || ![...memorySignals, ...faultSignals].includes(signal))
      return this.#lost(signal ?? `exit ${code}`);
    if (faultSignals.includes(signal)) return { kind: 'outgrown', reason: 'crash', told: 'ended the process that worked on it' };
    return { kind: 'outgrown', reason: 'memory', told: `took more than ${heapMb} MB` };
  }
}

function launch(sortsModule: URL): ChildProcess {
  return launchChild(main, { args: [sortsModule.href], heapMb, kernelMb });
}

function hold(child: ChildProcess, isHeld: boolean): void {
  if (isHeld) child.ref();
  else child.unref();
  if (isHeld) child.channel?.ref();
  else child.channel?.unref();
}

/**
 * Checks a child every 25 ms while it has a job. Processor time counts from `begin` on, so that neither loading nor a busy machine counts against the job. A
 * child that was stopped or starved until the wall-clock limit is lost; one that slept without work has outgrown its time. Where the system has no /proc, a
 * quarter of the wall-clock time stands for processor time.
 */
function supervise(child: ChildProcess, limits: WorkLimits, over: (ended: Ended) => void) {
  const pid = child.pid ?? 0;
  const took: Ended = { kind: 'outgrown', reason: 'time', told: `took more than ${limits.cpuMs} ms` };
  let before: { readonly cpuMs: number; readonly memoryMb: number } | null = null;
  let clockMs = 0; // since the job was given, then since it began
  let last = performance.now();
  let isOn = true;

  const judge = (): Ended | null => {
    const usage = usageOf(pid);
    if (before) {
      const cpuMs = isLinux ? usage.cpuMs - before.cpuMs : clockMs / 4;
      if (usage.memoryMb - before.memoryMb > limits.memoryMb)
        return { kind: 'outgrown', reason: 'memory', told: `took more than ${limits.memoryMb} MB` };
      if (cpuMs > limits.cpuMs) return took;
    }
    if (clockMs <= (before ? limits.wallMs : loadMs)) return null;
    return before && stateOf(pid) === 'S' ? took : { kind: 'lost', reason: 'it was frozen', hasBegun: before !== null };
  };
  const timer = setInterval(() => {
    const now = performance.now();
    clockMs += Math.min(now - last, maxPerPollMs);
    last = now;
    const ended = judge();
    // An answer that has arrived in the meantime takes precedence.
    if (!ended) return;
    clearInterval(timer);
    setImmediate(() => isOn && over(ended));
  }, everyMs);

  return {
    begin(cpuMs: number) {
      before = { cpuMs, memoryMb: usageOf(pid).memoryMb };
      clockMs = 0;
    },
    end() {
      isOn = false;
      clearInterval(timer);
    },
  };
}

/** Returns the state of a process by proc(5): S sleeps, R is running or runnable, T is stopped; null where the system does not report it. */
function stateOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).charAt(0);
  } catch {
    return null;
  }
}
