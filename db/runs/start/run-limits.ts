import { completeLimits, narrowedLimits, type RevisionLimits } from '../../agents/revisions/revision-limits.ts';
import { money } from '../../money.ts';
import type { RunLimits } from '../run-types.ts';

/** Limits that a start may request; they can only lower what the revision allows. */
export type RunLimitsDraft = Partial<RunLimits>;

/** Returns the limits of a run: the lower of what is requested and what the revision allows. Limits stored by an older release are completed with defaults. */
export function limitsOfRun(asked: RunLimitsDraft, revision: Partial<RevisionLimits>): RunLimits {
  const { max_tool_calls: _, max_cost: maxCost, ...limits } = narrowedLimits(completeLimits(revision), asked);
  return { ...limits, max_cost: maxCost === null ? null : money(maxCost) };
}
