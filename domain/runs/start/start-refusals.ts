import { Failure, fail, invalid } from '../../../workflows/contracts/failure.ts';
import { spendingRefusal } from '../../billing/budgets.ts';
import { maxLiveRuns } from '../../../db/runs/start/live-runs.ts';
import { agentInactive } from './start-target.ts';
import type { StartRun } from '../../../db/runs/start/start-run.ts';
import type { StartTarget } from '../../../db/runs/start/start-target.ts';

/**
 * Returns the targets of starts, with a Failure where the workspace or the agent accepts no start now or the input lacks a variable that the agent requires.
 */
export function refuseUnready(
  starts: readonly StartRun[],
  targets: readonly (StartTarget | Failure)[],
): readonly (StartTarget | Failure)[] {
  const liveRuns = new Map<string, number>();
  return targets.map((target, n) => {
    const start = starts[n];
    if (target instanceof Failure || start === undefined) return target;
    const live = liveRuns.get(target.workspaceId) ?? target.liveRuns;
    const failure = refusalOf(start, target, live);
    if (failure === null) liveRuns.set(target.workspaceId, live + 1);
    return failure ?? target;
  });
}

function refusalOf({ input, parent }: StartRun, target: StartTarget, liveRuns: number): Failure | null {
  if (target.inactiveReason !== null)
    return fail('resource_frozen', {
      reason: target.inactiveReason,
      detail: 'The workspace is archived, or its organization is not active.',
    });
  if (!target.isAgentActive) return agentInactive();
  if (liveRuns >= maxLiveRuns)
    return fail('rate_limited', { reason: 'live_runs', detail: 'The workspace has too many live runs.', retryAfterS: 10 });
  for (const variable of target.variables) {
    const isGiven = input.json !== undefined && Object.hasOwn(input.json, variable.name);
    if (variable.required && variable.default === null && !isGiven)
      return invalid(`/input/json/${variable.name}`, 'required', 'The agent requires a value for this variable.');
  }
  // A child spends what its parent was allowed at its start; its calls pass the budget check like all others.
  return parent ? null : spendingRefusal(target.spending);
}
