import { Failure, fail, invalid } from '../../workflows/contracts/failure.ts';
import { spendingRefusal } from '../billing/admit.ts';
import type { StartRun } from './start-run.ts';
import { limitLiveRuns } from './live-runs.ts';
import { agentInactive, type StartTarget } from './start-target.ts';

/** The targets of starts, with a Failure where the place or the agent takes none now or the input lacks what the agent demands. */
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
  if (target.frozenReason !== null)
    return fail('resource_frozen', { reason: target.frozenReason, detail: 'The workspace is archived or its organization is not active.' });
  if (!target.isAgentActive) return agentInactive();
  if (liveRuns >= limitLiveRuns)
    return fail('rate_limited', { reason: 'live_runs', detail: 'The workspace has too many live runs.', retryAfterS: 10 });
  for (const variable of target.variables) {
    const isGiven = input.json !== undefined && Object.hasOwn(input.json, variable.name);
    if (variable.required && variable.default === null && !isGiven)
      return invalid(`/input/json/${variable.name}`, 'required', 'The agent demands a value for this variable.');
  }
  // A child spends out of what its parent was admitted for; its calls pass the gate like all others.
  return parent ? null : spendingRefusal(target.spending);
}
