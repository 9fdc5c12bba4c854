import { unclaimStep } from '../../../domain/runs/steps/tries.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { leaseS } from '../../../db/billing/budgets/lease.ts';
import type { ReserveResult } from '../../../db/billing/budgets/holds.ts';
import { renewHold, reserveForStep } from '../../../domain/billing/holds.ts';
import { rollBudgetWindows } from '../../../domain/billing/upkeep.ts';
import type { StepWait } from '../../../workflows/contracts/runs/agent-run.ts';
import { fail, type Failure } from '../../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../../deps.ts';
import { autocommitAsRun, transactAsRun } from '../../runs/as-run.ts';
import type { ActivityAbort } from '../../support/abort.ts';
import { fenced, giveUp } from '../../support/failures.ts';
import { retryWhileUnavailable } from '../../support/retry-unavailable.ts';
import type { Permit } from '../../../ports/models/permits/permits.ts';
import { estimateCost } from '../prompt/estimate.ts';
import { callKeyOf, type ModelTry } from '../model-try.ts';
import type { ModelStepRequest } from '../step.ts';
import { permitDelayMs, takePermit } from './permits.ts';

/** How long an activity waits for calls in flight to release their holds; after that its run waits, and the slot is free. */
const maxBusyMs = 60_000;
const minPauseMs = 1_000;
const maxPauseMs = 10_000;
const maxRolls = 5;

/**
 * A try that may be made. `close` ends the renewal of its hold, and gives its permit back if it was not used; settling or releasing the hold is up to the code
 * that settles the try.
 */
export interface OpenHold {
  readonly kind: 'held';
  /** When the hold was reserved, by the database's clock: the call belongs to the budget windows of that time. */
  readonly at: Date;
  /** Null: the model has no limits. */
  readonly permit: Permit | null;
  close(): void;
}

export interface SpendFacts {
  readonly modelTry: ModelTry;
  readonly request: ModelStepRequest;
  readonly abort: ActivityAbort;
  /** How long the activity waits for a permit; after that its run waits, and the slot is free. */
  readonly maxPermitWaitMs: number;
}

/**
 * Passes a try through the limits of its model and the budget check before it is made: takes a permit, then holds its maximum cost in every budget and cap that
 * applies to it. When spending leaves too little, the run ends (budget_exceeded) or waits, as its `on_budget` says; when only the holds of calls in flight are
 * in the way, the check is retried, without the permit. While the database is unavailable, no model is called: the check fails closed.
 */
export async function holdCost(
  deps: ActivityDeps,
  { modelTry, request, abort, maxPermitWaitMs }: SpendFacts,
): Promise<OpenHold | { readonly kind: 'wait'; readonly wait: StepWait }> {
  const { terms, model, opened } = modelTry;
  if (model.limits === null && !terms.isCounted) return { kind: 'held', at: modelTry.startedAt, permit: null, close: () => undefined };
  const { workspace_id: workspaceId, activated_at: activatedAt, limits } = opened.run;
  const since = activatedAt === null ? null : new Date(activatedAt);
  const permitAsked = { request, workspaceId, since, signal: abort.signal, maxWaitMs: maxPermitWaitMs };
  const estimate = terms.isCounted ? estimateCost(request, terms.prices) : null;

  const end = performance.now() + maxBusyMs;
  for (;;) {
    const permit = model.limits === null ? null : await takePermit(deps, permitAsked);
    if (permit === null && model.limits !== null) return putOffFor(deps, modelTry, permitDelayMs(deps, model.provider));
    if (estimate === null) return { kind: 'held', at: modelTry.startedAt, permit, close: () => permit?.giveBack() };
    const found = await orGiveBack(permit, () => judge(deps, modelTry, estimate));
    if (found.outcome === 'ok') return { kind: 'held', at: found.at, permit, close: closing(permit, keepHeld(deps, modelTry)) };
    permit?.giveBack();
    if (found.outcome === 'full') {
      if (limits.on_budget === 'fail') throw giveUp(budgetExceeded(found.fullAt));
      return putOff(deps, modelTry, { on: 'budget', fullAt: found.fullAt, needed: estimate });
    }
    const pauseMs = minPauseMs + Math.floor(Math.random() * (maxPauseMs - minPauseMs));
    if (performance.now() + pauseMs > end) return putOffFor(deps, modelTry, pauseMs);
    await delay(pauseMs, undefined, { signal: abort.signal }).catch(() => {
      throw abort.signal.reason;
    });
  }
}

async function orGiveBack<R>(permit: Permit | null, work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    permit?.giveBack();
    throw error;
  }
}

function closing(permit: Permit | null, close: () => void): () => void {
  return () => {
    permit?.giveBack();
    close();
  };
}

function putOffFor(deps: ActivityDeps, modelTry: ModelTry, ms: number): Promise<{ kind: 'wait'; wait: StepWait }> {
  return putOff(deps, modelTry, { on: 'timer', untilMs: deps.db.clock.now().getTime() + ms });
}

/**
 * Returns the verdict of the budget windows, after rolling those that have ended. A hold is unique per key, so an attempt whose reply was lost does not hold
 * twice.
 */
async function judge(deps: ActivityDeps, modelTry: ModelTry, estimate: string): Promise<Exclude<ReserveResult, { outcome: 'stale' }>> {
  const { run } = modelTry.opened;
  const call = { run, step: modelTry.step, callKey: callKeyOf(modelTry), estimate };
  for (let rolls = 0; rolls < maxRolls; rolls += 1) {
    const found = await retryWhileUnavailable(() => autocommitAsRun(deps, run.id, (tx) => reserveForStep(tx, call)));
    if (found.outcome !== 'stale') return found;
    await retryWhileUnavailable(() => transactAsRun(deps, run.id, (tx) => rollBudgetWindows(tx.em, run.workspace_id)));
  }
  throw fail('service_unavailable', { reason: 'budget_windows', detail: 'The budget could not be read.' });
}

/** The call is not made now: its claim is released, so that the wait does not count as a lost try. */
async function putOff(deps: ActivityDeps, { opened, step }: ModelTry, wait: StepWait): Promise<{ kind: 'wait'; wait: StepWait }> {
  const claim = { runId: opened.run.id, step, attempt: opened.attempt };
  const isOurs = await retryWhileUnavailable(() => transactAsRun(deps, claim.runId, (tx) => unclaimStep(tx, claim)));
  if (!isOurs) throw fenced();
  return { kind: 'wait', wait };
}

/** Renews the lease while the call is in flight; returns the function that stops the renewal. */
function keepHeld(deps: ActivityDeps, modelTry: ModelTry): () => void {
  const key = callKeyOf(modelTry);
  const { id } = modelTry.opened.run;
  const timer = setInterval(
    () => {
      autocommitAsRun(deps, id, (tx) => renewHold(tx, key)).catch((err: unknown) => deps.log.warn({ err, run_id: id }, 'hold not renewed'));
    },
    (leaseS * 1_000) / 6,
  );
  return () => clearInterval(timer);
}

function budgetExceeded(fullAt: string): Failure {
  const isCap = fullAt.includes(':');
  return fail('budget_exceeded', {
    reason: !isCap ? fullAt : fullAt.startsWith('eval:') ? 'evaluation_max_cost' : 'max_cost',
    detail: isCap ? 'The run has reached its cost limit.' : `The budget of the ${fullAt} is spent.`,
  });
}
