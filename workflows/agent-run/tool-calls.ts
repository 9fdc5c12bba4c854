import { CancellationScope, CancelledFailure, condition, patched } from '@temporalio/workflow';
import type { PlannedCall } from '../contracts/runs/agent-run.ts';
import { runChildCall } from './child-run.ts';
import { awaitApprovals, type StepApprovals } from './approvals.ts';
import type { RunLoop } from './run-loop.ts';
import { runToolCall } from './tool-call.ts';

/** How many calls of one kind are executed at once. Writes run one after another, in the model's order as far as they are ready. */
const atOnce = { write: 1, read: 8, child: 4 } as const;

/**
 * Executes the calls of one turn. Calls that need people or clients start once those have answered; the others run meanwhile. Returns when each has a result. A
 * tool's own failure is such a result; the first other error stops the rest.
 */
export function runCalls(loop: RunLoop, step: number, calls: readonly PlannedCall[]): Promise<void> {
  const open = calls.filter((call) => !call.isSettled);

  return open.length === 0 ? Promise.resolve() : new StepCalls(loop, step, open).run();
}

interface Lanes {
  readonly max: number;
  readonly queue: PlannedCall[];
  atWork: number;
}

/** The calls of one step that had no result when it was created; used until each has one. */
class StepCalls {
  readonly #loop: RunLoop;
  readonly #step: number;
  readonly #calls: readonly PlannedCall[];
  readonly #lanes: Readonly<Record<keyof typeof atOnce, Lanes>> = {
    write: lanesOf('write'),
    read: lanesOf('read'),
    child: lanesOf('child'),
  };
  readonly #gates: StepApprovals;
  /** Ids of calls that wait in a queue, are being executed, or have ended. */
  readonly #started = new Set<string>();
  readonly #scope = new CancellationScope();
  readonly #errors: unknown[] = [];
  readonly #over = Promise.withResolvers<void>();
  #pending = 0;
  #executing = 0;
  #areGatesAnswered = true;
  #isOneAlone = false;
  /** Histories from before this rule executed an exclusive call like any other write. */
  readonly #hasExclusives: boolean;

  constructor(loop: RunLoop, step: number, calls: readonly PlannedCall[]) {
    this.#loop = loop;
    this.#step = step;
    this.#calls = calls;
    this.#gates = {
      mustAsk: false,
      start: (ready) => this.#start(ready),
      isIdle: () => Object.values(this.#lanes).every((lanes) => lanes.atWork === 0),
    };
    this.#hasExclusives = calls.length > 1 && calls.some(isExclusive) && patched('exclusive-alone');
  }

  async run(): Promise<void> {
    await this.#scope.run(async () => {
      const isAsked = (call: PlannedCall) => call.gate === true || call.client === true;

      this.#start(this.#calls.filter((call) => !isAsked(call)));
      if (this.#calls.some(isAsked)) this.#ask();
      await this.#over.promise;
    });
    if (this.#errors.length > 0) throw this.#errors[0];
  }

  /** Enqueues each call once and starts lanes for the queues. A client executes its calls itself. */
  #start(calls: readonly PlannedCall[]): void {
    for (const call of calls) {
      if (call.isSettled || call.client || this.#started.has(call.toolCallId)) continue;
      this.#started.add(call.toolCallId);
      this.#enqueue(call);
    }
    for (const lanes of [this.#lanes.write, this.#lanes.read, this.#lanes.child]) {
      while (lanes.atWork < lanes.max && lanes.queue.length > 0) this.#spawn(this.#runLane(lanes));
    }
  }

  #enqueue(call: PlannedCall): void {
    const { queue } = this.#lanes[kindOf(call)];
    const place = (one: PlannedCall) => this.#calls.findIndex(({ toolCallId }) => toolCallId === one.toolCallId);
    const next = queue.findIndex((other) => place(other) > place(call));

    queue.splice(next === -1 ? queue.length : next, 0, call);
  }

  /** Takes one call after another from a queue that several lanes may share. */
  async #runLane(lanes: Lanes): Promise<void> {
    lanes.atWork++;
    for (let call = lanes.queue.shift(); call; call = lanes.queue.shift()) {
      if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('run cancelled');
      if (this.#hasExclusives) await this.#untilFree(call);
      await this.#execute(call);
    }
    lanes.atWork--;
  }

  /** An exclusive call is executed while nothing else of the step is, and nothing else is executed beside it. */
  async #untilFree(call: PlannedCall): Promise<void> {
    const isFree = () => !this.#isOneAlone && (!isExclusive(call) || this.#executing === 0);

    // Of several calls woken at once, another may have been quicker.
    while (!isFree()) await condition(isFree);
    this.#isOneAlone = isExclusive(call);
  }

  async #execute(call: PlannedCall): Promise<void> {
    this.#executing++;
    const end = await (call.child ? runChildCall(this.#loop, call) : runToolCall(this.#loop.runId, call));
    this.#executing--;
    if (isExclusive(call)) this.#isOneAlone = false;

    if (end === 'over') return;
    this.#started.delete(call.toolCallId);
    this.#ask();
  }

  /** Has the open questions put: by the loop that already waits for answers, or else by a new one. */
  #ask(): void {
    this.#gates.mustAsk = true;
    if (!this.#areGatesAnswered) return;
    this.#areGatesAnswered = false;
    this.#spawn(
      awaitApprovals(this.#loop, this.#step, this.#gates).then(() => {
        this.#areGatesAnswered = true;
        if (this.#gates.mustAsk) this.#ask();
      }),
    );
  }

  /** Counts a job until it ends; the first error cancels the others. */
  #spawn(work: Promise<void>): void {
    this.#pending++;
    work
      .catch((error: unknown) => {
        this.#errors.push(error);
        this.#scope.cancel();
      })
      .finally(() => {
        this.#pending--;
        if (this.#pending === 0) this.#over.resolve();
      });
  }
}

function lanesOf(kind: keyof typeof atOnce): Lanes {
  return { max: atOnce[kind], queue: [], atWork: 0 };
}

function kindOf(call: PlannedCall): keyof typeof atOnce {
  if (call.child) return 'child';
  return (call.concurrency ?? call.effect) === 'read' ? 'read' : 'write';
}

function isExclusive(call: PlannedCall): boolean {
  return call.concurrency === 'exclusive';
}
