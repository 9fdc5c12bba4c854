import { setTimeout as delay } from 'node:timers/promises';
import { scoringResults, type EvaluationState } from '../../db/evaluations/work.ts';
import { fillEvaluation, recordSummary, type Standing } from '../../domain/evaluations/lifecycle.ts';
import type { EvaluationStep } from '../../workflows/contracts/evaluations.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem, readAsSystem } from '../support/as-system.ts';
import { scoreResult } from './score-result.ts';
import { summaryOf } from './summarize.ts';

/** `passMs`: how long a pass takes new work. `idleMs`: how long it checks for more when there is none, since runs that end soon are worth waiting for. */
const passMs = 60_000;
const idleMs = 1_000;
const pollMs = 100;
const refreshEnds = 50;
const refreshMs = 10_000;

/**
 * Starts runs and scores ended ones, up to the concurrency of each, until there is nothing to do just now, or nothing left. Rows record what there is to do, so
 * a worker that takes over continues; a result that two workers score at once ends once.
 */
export async function advancePass(deps: ActivityDeps, id: string, signal: AbortSignal): Promise<EvaluationStep> {
  const stop = new AbortController();
  const pass = new Pass(deps, id, AbortSignal.any([signal, stop.signal]));
  const until = performance.now() + passMs;
  try {
    for (let idleSince = performance.now(); ;) {
      signal.throwIfAborted();
      pass.rethrow();
      const standing = await transactAsSystem(deps, (tx) => fillEvaluation(tx, id, deps.env.billingCurrency));
      if (standing.state === 'over') return { outcome: 'done' };
      const isLate = performance.now() > until;
      const begun = isLate ? 0 : await pass.score(standing);
      await pass.refresh(standing.evaluation);
      if (begun > 0 || standing.started > 0 || pass.inFlight > 0) idleSince = performance.now();
      if (pass.inFlight === 0 && (isLate || performance.now() - idleSince > idleMs)) return { outcome: 'waiting' };
      await pass.next(pollMs);
    }
  } finally {
    stop.abort();
    await pass.settled();
  }
}

class Pass {
  readonly #deps: ActivityDeps;
  readonly #id: string;
  readonly #signal: AbortSignal;
  readonly #scoring = new Map<string, Promise<void>>();
  #fault: unknown = null;
  #ends = 0;
  #refreshedAt = performance.now();
  /** A summary that takes long is computed less often. */
  #pauseMs = 0;

  constructor(deps: ActivityDeps, id: string, signal: AbortSignal) {
    this.#deps = deps;
    this.#id = id;
    this.#signal = signal;
  }

  get inFlight(): number {
    return this.#scoring.size;
  }

  /** Throws the error that kept a result from its score without being its own. */
  rethrow(): void {
    if (this.#fault !== null) throw this.#fault;
  }

  /** Begins to score waiting results; returns how many. */
  async score({ evaluation, scoring }: Extract<Standing, { state: 'open' }>): Promise<number> {
    const { concurrency } = evaluation.settings;
    if (scoring <= this.#scoring.size || this.#scoring.size >= concurrency) return 0;
    const ids = await readAsSystem(this.#deps, (tx) => scoringResults(tx, this.#id, concurrency + this.#scoring.size));
    const fresh = ids.filter((id) => !this.#scoring.has(id)).slice(0, concurrency - this.#scoring.size);
    for (const id of fresh) this.#scoring.set(id, this.#scoreOne(evaluation, id));
    return fresh.length;
  }

  async #scoreOne(evaluation: EvaluationState, resultId: string): Promise<void> {
    try {
      await scoreResult(this.#deps, { evaluation, resultId, signal: this.#signal });
      this.#ends += 1;
    } catch (error) {
      if (!this.#signal.aborted) this.#fault ??= error;
    } finally {
      this.#scoring.delete(resultId);
    }
  }

  /** Writes the numbers of the ended results, every 50 ends or 10 seconds. */
  async refresh(evaluation: EvaluationState): Promise<void> {
    const sinceMs = performance.now() - this.#refreshedAt;
    if (this.#ends === 0 || sinceMs < this.#pauseMs || (this.#ends < refreshEnds && sinceMs < refreshMs)) return;
    const begunAt = performance.now();
    this.#ends = 0;
    await refreshSummary(this.#deps, evaluation);
    this.#refreshedAt = performance.now();
    this.#pauseMs = 10 * (this.#refreshedAt - begunAt);
  }

  /** Waits until a result has its scores, or `ms` have passed. */
  async next(ms: number): Promise<void> {
    const ended = new AbortController();
    const timer = delay(ms, undefined, { signal: ended.signal }).catch(() => undefined);
    await Promise.race([timer, ...this.#scoring.values()]);
    ended.abort();
  }

  async settled(): Promise<void> {
    await Promise.all(this.#scoring.values());
  }
}

async function refreshSummary(deps: ActivityDeps, evaluation: EvaluationState): Promise<void> {
  const { summary } = await summaryOf(deps, evaluation);
  await transactAsSystem(deps, (tx) => recordSummary(tx, evaluation.id, summary));
}
