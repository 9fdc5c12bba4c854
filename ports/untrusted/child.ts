import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { usageOf } from '../sandbox/watch.ts';
import { launchChild } from './launch.ts';
import type { Answer, ChildMessage, JobMessage } from './messages.ts';
import type { WorkLimits } from './sorts.ts';
import { lowerPriority } from './lower-priority.ts';

/** How a job ended: answered; outgrown, which is its own fault; or lost, which is nobody's. */
export type Ended =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'outgrown'; readonly reason: 'time' | 'memory' | 'crash'; readonly told: string }
  | { readonly kind: 'lost'; readonly reason: string; readonly hasBegun: boolean };

/** Of V8's old generation: the same for every sort, since a child serves all of them. V8 ends the child that goes over it. */
export const heapMb = 256;
/** Private memory that the kernel gives a child at most, whatever its parent sees in time. */
const kernelMb = 1_024;
/** A child that holds more than this between two jobs is replaced. */
const retireMb = 192;
/** Nice value of a child that gives way: beside others it gets a third of what it would, and enough to start on a machine with much to do. */
const waysNice = 5;
const everyMs = 25;
/** For a child to start, and to load the rules of a sort. */
const loadMs = 30_000;
/** A parent that stood still is not a job that took long. */
const maxPerLookMs = 10 * everyMs;

const main = fileURLToPath(new URL('./child-main.ts', import.meta.url));
const isLinux = process.platform === 'linux';
/** A full heap, an allocation that was refused. */
const memorySignals: readonly NodeJS.Signals[] = ['SIGABRT', 'SIGTRAP', 'SIGILL'];
/** A full stack of native code, an access outside of memory. */
const faultSignals: readonly NodeJS.Signals[] = ['SIGSEGV', 'SIGBUS'];

/**
 * A child process that does one job at a time: with an empty environment, no descriptor of this process but its own channel, no right to write
 * files, start processes or load native code, and no core file. It holds this process's event loop only while it has a job.
 */
export class WorkChild {
  /** Sorts whose rules it has loaded. */
  readonly loaded = new Set<string>();
  readonly exited: Promise<void>;
  #givesWay = false;
  readonly #process: ChildProcess;
  #settle: (ended: Ended) => void = () => undefined;
  #begin: (cpuMs: number) => void = () => undefined;
  #hasBegun = false;
  #isGone: boolean;

  constructor(sortsModule: URL) {
    const child = launch(sortsModule);
    const exit = Promise.withResolvers<void>();
    this.#process = child;
    this.#isGone = child.pid === undefined;
    this.exited = exit.promise;
    child.on('message', (message: ChildMessage) => this.#hear(message));
    child.once('error', (error) => this.#end(this.#lost(error.message), exit));
    child.once('exit', (code, signal) => this.#end(this.#judgeExit(code, signal), exit));
    hold(child, false);
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Whether everything else on the machine goes before it. */
  get givesWay(): boolean {
    return this.#givesWay;
  }

  /** Lowers its priority for good: to raise it again takes a right that a process need not have. Best before it has started its threads. */
  giveWay(): void {
    const { pid } = this;
    // Without a process there is nothing to slow down; 0 would be this one.
    if (this.#givesWay || this.#isGone || pid === undefined) return;
    this.#givesWay = true;
    try {
      lowerPriority(waysNice, pid);
    } catch {
      // It has just ended; whoever gives it a job hears of that.
    }
  }

  /** False once it has ended or has grown so much that another should take its place. */
  isFit(): boolean {
    return !this.#isGone && usageOf(this.pid ?? 0).memoryMb <= retireMb;
  }

  kill(reason = 'it was ended'): void {
    this.#isGone = true;
    this.#process.kill('SIGKILL');
    this.#settle(this.#lost(reason));
  }

  /** Never rejects. A job that isn't answered costs the child its life. */
  async run(message: JobMessage, limits: WorkLimits): Promise<Ended> {
    if (this.#isGone) return this.#lost('the child had ended');
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
    if (answer.kind === 'problem' && answer.isLast) this.#isGone = true;
    this.#settle({ kind: 'answered', answer });
  }

  #end(how: Ended, exit: PromiseWithResolvers<void>): void {
    this.#isGone = true;
    this.#settle(how);
    exit.resolve();
  }

  #lost(reason: string): Ended {
    return { kind: 'lost', reason: reason.slice(0, 200), hasBegun: this.#hasBegun };
  }

  /** What a death says of the job: V8 and libc end a process that can't go on by a signal of their own. */
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
 * Looks at a child every 25 ms while it has a job. Processor time counts from `begin` on, so that neither loading nor a machine that is too
 * busy is held against the job; a child that was stopped or starved until the clock ran out is lost, one that waited for nothing has outgrown
 * its time. Where the system has no /proc a quarter of the clock stands for processor time.
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
    return before && stateOf(pid) === 'S' ? took : { kind: 'lost', reason: 'it stood still', hasBegun: before !== null };
  };
  const timer = setInterval(() => {
    const now = performance.now();
    clockMs += Math.min(now - last, maxPerLookMs);
    last = now;
    const ended = judge();
    // An answer that has arrived meanwhile comes first.
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

/** The state of a process by proc(5): S sleeps, R runs or would, T is stopped; null where the system does not tell. */
function stateOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).charAt(0);
  } catch {
    return null;
  }
}
