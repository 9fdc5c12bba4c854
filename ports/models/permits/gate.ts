import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { PermitMetrics } from '../../metrics/permit-metrics.ts';
import { exchange, type Changes, type ExchangedCall, type FinishedCall, type ProviderLimits } from './exchange.ts';
import { fitsOwnShare, type MadeCall } from './own-share.ts';

/** A call for which a permit is asked. */
export interface PermitRequest {
  /** The registry's id of the model. */
  readonly model: string;
  readonly workspaceId: string;
  /** The most tokens that it is expected to use. */
  readonly tokens: number;
  /** Among the calls of a workspace, the oldest is next; absent: it comes last. */
  readonly since?: Date | null;
  readonly signal: AbortSignal;
  readonly maxWaitMs: number;
}

/** The right to make one call now. It has to be ended, whatever became of the call. */
export interface Permit {
  /** The call has ended. `tokens`: those it has used; null: unknown, its estimate counts. Only the first end counts. */
  end(tokens: number | null): void;
  /** Like `end`, for a call that never left. */
  giveBack(): void;
  /** The provider refuses calls of this model for now, for this long if it says so. */
  pause(ms: number | null): void;
}

export interface GateOptions {
  readonly provider: string;
  readonly limits: ProviderLimits;
  readonly redis: Redis;
  readonly keys: string;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly metrics: PermitMetrics;
}

interface Waiting extends PermitRequest {
  readonly id: string;
  readonly startedAt: number;
  readonly admit: (permit: Permit) => void;
}

/** How often a process with waiting calls asks for its permits, and how often one that only holds permits renews their lease. */
const askMs = 100;
const renewMs = 2_000;
/** Pause before Redis is asked again once it did not answer. */
const lostMs = 1_000;
const recentMs = 60_000;
/** A refusal without a time, while Redis does not answer. */
const defaultPauseMs = 2_000;

/**
 * The permits of one provider in this process. While Redis answers, `permits.lua` decides for all processes; otherwise each process grants its share. What it
 * has is here: Redis gets it anew after a loss.
 */
export class PermitGate {
  readonly #options: GateOptions;
  readonly #process = randomUUID();
  readonly #waiting = new Map<string, Waiting>();
  readonly #held = new Map<string, Waiting>();
  readonly #pauses = new Map<string, number>();
  #made: (MadeCall & { readonly isOwnShare: boolean })[] = [];
  #changes = noChanges();
  #isShared = true;
  #isWhole = true;
  #isAsking = false;
  #retryAt = 0;
  #processes = 2;
  #lastServed = new Map<string, number>();
  #count = 0;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** Calls of this process that wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Waits for a permit; null: there was none in time. Rejects with the signal's reason. */
  take(request: PermitRequest): Promise<Permit | null> {
    if (request.signal.aborted) return Promise.reject(request.signal.reason);
    const id = `${this.#process}/${++this.#count}`;
    const startedAt = performance.now();
    const { promise, resolve, reject } = Promise.withResolvers<Permit | null>();
    const leave = () => {
      if (!this.#waiting.delete(id)) return false;
      this.#finish({ id, unsent: true });
      return true;
    };
    const onAbort = () => void (leave() && reject(request.signal.reason));
    const timer = setTimeout(() => void (leave() && resolve(null)), request.maxWaitMs);
    request.signal.addEventListener('abort', onAbort, { once: true });
    const label = { provider: this.#options.provider, model: request.model };
    this.#options.metrics.waiting(label, 1);
    const waiting = { ...request, tokens: this.#clamped(request), id, startedAt, admit: resolve };
    if (this.#isIdle()) this.#isWhole = true; // Redis may have given this process up
    this.#waiting.set(id, waiting);
    this.#changes.entering.push(exchanged(waiting));
    this.#ask();
    return promise.finally(() => {
      clearTimeout(timer);
      request.signal.removeEventListener('abort', onAbort);
      this.#options.metrics.waiting(label, -1);
      this.#options.metrics.waited(label, (performance.now() - startedAt) / 1_000);
    });
  }

  /** Permits that are held are given back by their lease, at the latest. */
  close(): void {
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  /** A call that is estimated above a limit would never leave: it then needs all of it. */
  #clamped({ model, tokens }: PermitRequest): number {
    const { provider, models } = this.#options.limits;
    return Math.ceil(Math.min(tokens, provider?.tokensPerMinute ?? Infinity, models.get(model)?.tokensPerMinute ?? Infinity));
  }

  #isIdle(): boolean {
    return this.#waiting.size === 0 && this.#held.size === 0;
  }

  #admit(id: string, isOwnShare: boolean): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) {
      if (!this.#held.has(id)) this.#changes.finished.push({ id, unsent: true }); // it has left meanwhile
      return;
    }
    this.#waiting.delete(id);
    this.#held.set(id, waiting);
    const { model, workspaceId, tokens } = waiting;
    this.#made.push({ at: performance.now(), model, workspaceId, tokens, isOwnShare });
    waiting.admit({
      end: (used) => this.#end(id, used === null ? {} : { tokens: Math.round(used) }),
      giveBack: () => this.#end(id, { unsent: true }),
      pause: (ms) => this.#pause(model, ms),
    });
  }

  #end(id: string, how: Omit<FinishedCall, 'id'>): void {
    if (this.#held.delete(id)) this.#finish({ id, ...how });
  }

  #finish(done: FinishedCall): void {
    this.#changes.finished.push(done);
    this.#ask();
  }

  #pause(model: string, ms: number | null): void {
    const { provider, metrics, log } = this.#options;
    metrics.paused({ provider, model });
    log.warn({ provider, model, pause_ms: ms }, 'model paused by its provider');
    const until = performance.now() + (ms ?? defaultPauseMs);
    this.#pauses.set(model, Math.max(this.#pauses.get(model) ?? 0, until));
    this.#changes.pauses.push({ m: model, ...(ms === null ? {} : { ms: Math.ceil(ms) }) });
    this.#ask();
  }

  /** Exchanges what has changed; one exchange at a time, so that none overtakes another. */
  #ask(): void {
    if (this.#isClosed) return;
    if (!this.#isShared) this.#grantOwnShare();
    if (!this.#isAsking && (this.#isShared || performance.now() >= this.#retryAt)) {
      this.#isAsking = true;
      void this.#exchange().finally(() => {
        this.#isAsking = false;
        if (this.#isShared && (this.#isWhole || hasChanges(this.#changes))) this.#ask();
        else this.#arm();
      });
    }
    this.#arm();
  }

  #arm(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#isClosed || this.#isIdle()) return;
    this.#timer = setTimeout(() => this.#ask(), this.#waiting.size > 0 || !this.#isShared ? askMs : renewMs).unref();
  }

  async #exchange(): Promise<void> {
    const changes = this.#changes;
    const askedAt = performance.now();
    const whole = this.#isWhole ? this.#whole(askedAt) : null;
    const entering = whole === null ? changes.entering : [...this.#waiting.values()].map(exchanged);
    this.#changes = noChanges();
    this.#isWhole = false;
    this.#removeOld();
    try {
      const reply = await exchange({ ...this.#options, process: this.#process }, { ...changes, entering, whole });
      this.#processes = Math.max(1, reply.processes);
      this.#isWhole ||= reply.isUnknown;
      if (!this.#isShared) this.#share(askedAt);
      for (const id of reply.granted) this.#admit(id, false);
    } catch (error) {
      this.#loseRedis(error);
    }
  }

  #whole(now: number) {
    const made = this.#made.filter(({ isOwnShare, at }) => isOwnShare && now - at <= recentMs);
    return {
      held: [...this.#held.values()].map(exchanged),
      made: made.map(({ model, tokens, at }) => ({ m: model, t: tokens, ago: Math.floor((now - at) / 1_000) })),
    };
  }

  #share(askedAt: number): void {
    this.#isShared = true;
    // The exchange reported these to Redis.
    this.#made = this.#made.map((call) => ({ ...call, isOwnShare: call.isOwnShare && call.at > askedAt }));
    this.#options.metrics.ownShare(this.#options.provider, false);
    this.#options.log.info({ provider: this.#options.provider }, 'limits of models are shared again');
  }

  /** Nobody waits for Redis: this process grants its share of the limits. What Redis may have done of the lost exchange is corrected by the next, whole one. */
  #loseRedis(err: unknown): void {
    const { provider, metrics, log } = this.#options;
    this.#isWhole = true;
    this.#changes = noChanges();
    this.#retryAt = performance.now() + lostMs;
    if (this.#isClosed) return;
    if (this.#isShared) {
      log.warn({ err, provider, processes: this.#processes }, 'limits of models are divided among the processes: redis does not answer');
      metrics.ownShare(provider, true);
    }
    this.#isShared = false;
    this.#grantOwnShare();
  }

  /** One call of each workspace after the other, the least recently served first. */
  #grantOwnShare(): void {
    this.#removeOld();
    const blocked = new Set<string>();
    for (;;) {
      const next = this.#next(blocked);
      if (!next) return;
      const share = {
        limits: this.#options.limits,
        processes: this.#processes,
        made: this.#made,
        now: performance.now(),
        pauses: this.#pauses,
      };
      if (fitsOwnShare(next, { ...share, held: this.#held.values() })) {
        this.#lastServed.delete(next.workspaceId);
        this.#lastServed.set(next.workspaceId, ++this.#count);
        this.#isWhole = true;
        this.#admit(next.id, true);
      } else blocked.add(next.model);
    }
  }

  #next(blocked: ReadonlySet<string>): Waiting | null {
    let next: Waiting | null = null;
    const rank = (call: Waiting) =>
      [this.#lastServed.get(call.workspaceId) ?? 0, call.since?.getTime() ?? Infinity, call.startedAt] as const;
    for (const call of this.#waiting.values())
      if (!blocked.has(call.model) && (next === null || isBefore(rank(call), rank(next)))) next = call;
    return next;
  }

  #removeOld(): void {
    const oldest = performance.now() - recentMs - 1_000;
    const recent = this.#made.findIndex(({ at }) => at > oldest);
    this.#made.splice(0, recent < 0 ? this.#made.length : recent);
    if (this.#waiting.size === 0) this.#lastServed.clear();
  }
}

function isBefore(left: readonly number[], right: readonly number[]): boolean {
  const at = left.findIndex((value, index) => value !== right[index]);
  return at >= 0 && (left[at] ?? 0) < (right[at] ?? 0);
}

function exchanged({ id, model, workspaceId, tokens, since, startedAt }: Waiting): ExchangedCall {
  return { id, m: model, w: workspaceId, t: tokens, ago: performance.now() - startedAt, ...(since ? { a: since.getTime() } : {}) };
}

interface OpenChanges extends Changes {
  readonly entering: ExchangedCall[];
  readonly finished: FinishedCall[];
  readonly pauses: { m: string; ms?: number }[];
}

function noChanges(): OpenChanges {
  return { entering: [], finished: [], pauses: [] };
}

function hasChanges({ entering, finished, pauses }: Changes): boolean {
  return entering.length + finished.length + pauses.length > 0;
}
