import { completeLimits, narrowedLimits, type RevisionLimits } from '../../agents/revisions/revision-limits.ts';
import { money } from '../../money.ts';
import type { RunLimits } from '../run-types.ts';

/** What a start may ask for; it only lowers what the revision allows. */
export type RunLimitsDraft = Partial<RunLimits>;

/** The limits of a run: the lower of what is asked and what the revision allows. Limits stored by an older release are completed. */
export function limitsOfRun(asked: RunLimitsDraft, revision: Partial<RevisionLimits>): RunLimits {
  const { max_tool_calls: _, max_cost: maxCost, ...limits } = narrowedLimits(completeLimits(revision), asked);
  return { ...limits, max_cost: maxCost === null ? null : money(maxCost) };
}
