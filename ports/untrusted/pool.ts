import { deserialize, serialize } from 'node:v8';
import type { Logger } from 'pino';
import { Counter } from 'prom-client';
import { fail } from '../../workflows/contracts/failure.ts';
import { WorkChild, type Ended } from './child.ts';
import type { Answer } from './messages.ts';
import { Outgrown, type Subject, type WorkTenant } from './outgrown.ts';
import { sorts, type Sort, type Sorts, type WorkLimits } from './sorts.ts';
import { FairQueue } from './fair-queue.ts';
import { WorkLimit, WorkProblem } from './work-errors.ts';

type AnySorts = Readonly<Record<string, Sort<never, unknown>>>;
type RunnerOf<S extends AnySorts, N extends keyof S> = Awaited<ReturnType<S[N]['load']>>['work'];
type JobOf<S extends AnySorts, N extends keyof S> = Parameters<RunnerOf<S, N>>[0];
type ResultOf<S extends AnySorts, N extends keyof S> = Awaited<ReturnType<RunnerOf<S, N>>>;

/** A job: its organization, its subject, and the signal that ends it. */
export interface Asked<Job> {
  /** Null: the platform and its operators, who count as one organization. */
  readonly organizationId: string | null;
  readonly job: Job;
  /** What is remembered when the job outgrows its limits; without it nothing is. */
  readonly subject?: Subject;
  /** When aborted, the job leaves the queue, or its child is killed; `run` rejects with the reason. */
  readonly signal?: AbortSignal;
}

/**
 * Does the work on tenants' input that may take unbounded time or memory, in at most four child processes that all sorts share. Organizations take turns, and
 * each holds at most half of the children.
 */
export interface WorkPool<S extends AnySorts = Sorts> {
  /**
   * Returns what the sort's `work` returns. Throws WorkLimit when the job outgrew its limits, WorkProblem when the work threw, the Failure that the work threw,
   * and `service_unavailable` when the job can't begin within 5 s, too much is queued already, or two children were lost during it.
   */
  run<N extends keyof S & string>(sort: N, asked: Asked<JobOf<S, N>>): Promise<ResultOf<S, N>>;
  /** Children that were killed or lost, by sort and reason. In no registry: the process registers it. */
  readonly ended: Counter<'sort' | 'reason'>;
  /** Process ids of the children, for tests and probes. */
  pids(): number[];
  /** Ends all children; queued and running jobs get `service_unavailable`. */
  close(): Promise<void>;
}

export interface WorkPoolOptions {
  readonly log: Logger;
  readonly size?: number;
  readonly beginMs?: number;
  readonly idleMs?: number;
  readonly rememberMs?: number;
}

/** Maximum children of one process. */
const childrenMax = 4;
const waitingLimits = { jobs: 1_000, bytes: 32 * 1024 * 1024, allBytes: 128 * 1024 * 1024 };
/** Children that may be lost during one job without its fault before it is given up; and the maximum number of children that it is given to. */
const triesMax = 2;
const startsMax = 5;

interface Entry extends WorkTenant {
  readonly bytes: number;
  readonly message: Uint8Array;
  readonly limits: WorkLimits;
  readonly isRemembered: boolean;
  readonly result: PromiseWithResolvers<Answer>;
  late: NodeJS.Timeout | undefined;
  child: WorkChild | null;
  /** Number of children that began it. */
  tries: number;
  /** Number of children that it was given to. */
  starts: number;
}

/** Creates the pool of one process of the deployment. Nothing is started before the first job. */
export function createWorkPool(options: WorkPoolOptions): WorkPool {
  return createPool({ sorts, module: new URL('./sorts.ts', import.meta.url) }, options);
}

/** Creates a pool of the sorts in `sorts`, which a child loads from `module`. */
export function createPool<S extends AnySorts>(given: { readonly sorts: S; readonly module: URL }, options: WorkPoolOptions): WorkPool<S> {
  return new Pool(given, options);
}

class Pool<S extends AnySorts> implements WorkPool<S> {
  readonly ended = new Counter({
    name: 'longhaul_work_children_ended_total',
    help: 'Child processes that were ended, or lost, under a job',
    labelNames: ['sort', 'reason'],
    registers: [],
  });
  readonly #given: { readonly sorts: S; readonly module: URL };
  readonly #options: Required<Omit<WorkPoolOptions, 'rememberMs'>>;
  readonly #outgrown: Outgrown;
  readonly #waiting = new FairQueue<Entry>(waitingLimits);
  readonly #working = new Map<Entry, WorkChild>();
  readonly #idle = new Map<WorkChild, NodeJS.Timeout>();
  /** The organization that a child has worked for last. */
  readonly #served = new WeakMap<WorkChild, string>();
  #isClosed = false;

  constructor(given: { readonly sorts: S; readonly module: URL }, { rememberMs, ...options }: WorkPoolOptions) {
    this.#given = given;
    this.#options = { size: childrenMax, beginMs: 5_000, idleMs: 60_000, ...options };
    this.#outgrown = new Outgrown(rememberMs);
  }

  async run<N extends keyof S & string>(sort: N, { organizationId, job, subject, signal }: Asked<JobOf<S, N>>): Promise<ResultOf<S, N>> {
    signal?.throwIfAborted();
    const work = { organization: organizationId ?? 'platform', sort, subject: subject ?? (() => '') };
    const known = subject ? this.#outgrown.find(work) : null;
    if (known !== null) throw new WorkLimit(known);

    const limits = this.#given.sorts[sort]?.limits;
    if (!limits) throw new Error(`there is no work of the sort ${sort}`);
    const message = serialize(job); // throws for a value that can't be copied
    const result = Promise.withResolvers<Answer>();
    const entry: Entry = {
      ...work,
      message,
      limits,
      bytes: message.byteLength,
      isRemembered: subject !== undefined,
      result,
      late: undefined,
      child: null,
      tries: 0,
      starts: 0,
    };
    this.#enqueue(entry);
    const abort = () => this.#abort(entry, signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      // The child runs this very function of the sort.
      return valueOf(await result.promise) as ResultOf<S, N>;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  pids(): number[] {
    return [...this.#working.values(), ...this.#idle.keys()].flatMap(({ pid }) => pid ?? []);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const entry of this.#waiting.takeAll()) this.#giveUp(entry, 'closing');
    const children = [...this.#working.values(), ...this.#idle.keys()];
    for (const timer of this.#idle.values()) clearTimeout(timer);
    this.#idle.clear();
    for (const child of children) child.kill();
    await Promise.all(children.map(({ exited }) => exited));
  }

  #enqueue(entry: Entry): void {
    if (this.#isClosed || !this.#waiting.add(entry)) return this.#giveUp(entry, this.#isClosed ? 'closing' : 'busy');
    entry.late = setTimeout(() => this.#waiting.remove(entry) && this.#giveUp(entry, 'busy'), this.#options.beginMs);
    this.#beginWaiting();
  }

  #beginWaiting(): void {
    const { size } = this.#options;
    const maxOfOne = Math.max(1, Math.floor(size / 2));
    const heldBy = (organization: string) => [...this.#working.keys()].filter((entry) => entry.organization === organization).length;
    while (this.#working.size < size) {
      const entry = this.#waiting.next((organization) => heldBy(organization) < maxOfOne);
      if (!entry) return;
      clearTimeout(entry.late);
      void this.#work(entry);
    }
  }

  async #work(entry: Entry): Promise<void> {
    const child = this.#takeChild(entry);
    this.#working.set(entry, child);
    entry.child = child;
    entry.starts += 1;
    const startedAt = performance.now();
    const ended = await child.run({ sort: entry.sort, job: entry.message }, entry.limits);
    entry.child = null;
    if (ended.kind === 'lost' && ended.hasBegun) entry.tries += 1;
    this.#working.delete(entry);
    if (child.isFit() && !this.#isClosed) this.#rest(child);
    else child.kill();
    if (ended.kind !== 'answered') this.#tell(entry, { ended, child, ms: performance.now() - startedAt });
    this.#settle(entry, ended);
    this.#beginWaiting();
  }

  #settle(entry: Entry, ended: Ended): void {
    switch (ended.kind) {
      case 'answered':
        return entry.result.resolve(ended.answer);
      case 'outgrown':
        this.#outgrown.blame(entry.organization);
        if (entry.isRemembered) this.#outgrown.remember(entry, ended.told);
        return entry.result.reject(new WorkLimit(ended.told));
      case 'lost':
        if (this.#isClosed) return this.#giveUp(entry, 'closing');
        return entry.tries < triesMax && entry.starts < startsMax ? this.#enqueue(entry) : this.#giveUp(entry, 'lost');
      default:
        return ended satisfies never;
    }
  }

  /** Takes an idle child, preferably one that has loaded the sort, otherwise a new one. */
  #takeChild({ sort, organization }: Entry): WorkChild {
    const fit = this.#openTo(organization).filter((child) => child.isFit());
    const child = fit.find(({ loaded }) => loaded.has(sort)) ?? fit.at(-1) ?? new WorkChild(this.#given.module);
    clearTimeout(this.#idle.get(child));
    this.#idle.delete(child);
    this.#served.set(child, organization);
    if (this.#outgrown.isBlamed(organization)) child.giveWay();
    return child;
  }

  /**
   * Returns the idle children that an organization may use. An organization whose work has just outgrown its limits is likely to end the next child, too: it
   * gets only children that it used itself, or a new one, and these give way to all other work. Only when there is no free slot do these organizations share
   * with all others.
   */
  #openTo(organization: string): WorkChild[] {
    const resting = [...this.#idle.keys()];
    const isBlamed = this.#outgrown.isBlamed(organization);
    const own = resting.filter((child) => (isBlamed ? this.#served.get(child) === organization : !child.givesWay));
    const hasSlot = this.#working.size + this.#idle.size < this.#options.size;
    return own.length > 0 || hasSlot ? own : resting;
  }

  #rest(child: WorkChild): void {
    const end = () => {
      this.#idle.delete(child);
      child.kill();
    };
    this.#idle.set(child, setTimeout(end, this.#options.idleMs).unref());
    void child.exited.then(() => this.#idle.delete(child));
  }

  #abort(entry: Entry, reason: unknown): void {
    entry.tries = triesMax; // no other try is wanted
    entry.result.reject(reason);
    clearTimeout(entry.late);
    if (!this.#waiting.remove(entry)) entry.child?.kill();
  }

  #giveUp(entry: Entry, reason: 'busy' | 'lost' | 'closing'): void {
    clearTimeout(entry.late);
    entry.result.reject(fail('service_unavailable', { reason: `work_${reason}`, detail: details[reason], retryAfterS: 5 }));
  }

  #tell(entry: Entry, { ended, child, ms }: { readonly ended: Exclude<Ended, { kind: 'answered' }>; child: WorkChild; ms: number }): void {
    const reason = ended.kind === 'lost' ? 'lost' : ended.reason;
    const told = ended.kind === 'lost' ? ended.reason : ended.told;
    this.ended.inc({ sort: entry.sort, reason });
    const { sort, organization, tries } = entry;
    this.#options.log.warn(
      { sort, organization_id: organization, reason, told, ms: Math.round(ms), child_pid: child.pid, tries },
      'child of untrusted work ended',
    );
  }
}

const details = {
  busy: 'Too much work of this organization is already waiting.',
  lost: 'The work was interrupted twice.',
  closing: 'The process is shutting down. Try again.',
} as const;

function valueOf(answer: Answer): unknown {
  switch (answer.kind) {
    case 'result':
      return deserialize(answer.bytes);
    case 'failure':
      throw fail(answer.code, answer.options);
    case 'problem':
      throw new WorkProblem(answer.message);
    case 'too_large':
      throw new WorkLimit('gives more than can be taken');
    default:
      return answer satisfies never;
  }
}
