import { Decimal } from 'decimal.js';
import { money } from '../../../db/money.ts';
import type { RunLimitsDraft } from '../../../db/runs/start/start-run.ts';
import { remainingMs, type RunState } from '../../../db/runs/run-state.ts';
import type { RunLimits, StepError } from '../../../db/runs/run-types.ts';

/** The minimum `max_duration_s` of any run; a child ends with its parent anyway. */
const minDurationS = 10;

/** The upper bounds of a child's limits: what is left to its parent, and what the call allows. The child's own revision narrows them further. */
export function limitsForChild(
  parent: RunState,
  call: { readonly maxCost: string | null; readonly timeoutS: number; readonly descendants: number; readonly now: Date },
): RunLimitsDraft & Pick<RunLimits, 'max_duration_s'> {
  const { limits } = parent;
  const leftS = Math.floor(remainingMs(parent, call.now) / 1_000);
  return {
    max_duration_s: Math.max(minDurationS, Math.min(leftS, call.timeoutS)),
    max_output_tokens: limits.max_output_tokens,
    max_cost: lowerCost(leftCost(parent), call.maxCost),
    max_children: Math.max(0, limits.max_children - call.descendants - 1),
    max_depth: Math.max(0, limits.max_depth - 1),
    approval_ttl_s: limits.approval_ttl_s,
    on_expiry: limits.on_expiry,
    on_budget: limits.on_budget,
  };
}

/** Returns why one of the runs above refuses a further child, worded for the model; null when all allow it. The caller has locked them all. */
export function refusalOfChild(runs: readonly RunState[], below: ReadonlyMap<string, number>, now: Date): StepError | null {
  const [parent] = runs.toReversed();
  if (!parent) return null;
  if (parent.limits.max_depth < 1) return used('Agents can not be asked any deeper; answer with what you have.', 'max_depth');
  if (runs.some((run) => (below.get(run.id) ?? 0) >= run.limits.max_children))
    return used('No more agents can be asked in this run; answer with what you have.', 'max_children');
  const cost = leftCost(parent);
  if (cost !== null && new Decimal(cost).lessThanOrEqualTo(0)) return used('The budget of this run is used up.', 'budget_exceeded');
  if (remainingMs(parent, now) < 1_000) return used('The time of this run is used up.', 'timeout');
  return null;
}

function leftCost({ limits, usage_subtree: usage }: RunState): string | null {
  if (limits.max_cost === null) return null;
  return money(Decimal.max(0, new Decimal(limits.max_cost).minus(usage.cost_amount)));
}

function lowerCost(left: string | null, right: string | null): string | null {
  if (left === null || right === null) return left ?? right;
  return new Decimal(right).lessThan(left) ? right : left;
}

function used(message: string, reason: string): StepError {
  return { code: 'tool_unavailable', message, retryable: false, reason };
}
