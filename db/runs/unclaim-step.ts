import { change } from '../sql.ts';
import type { Unit } from '../unit.ts';

/**
 * Takes back the claim of a try that has called nothing and said nothing: the next one has its number again and nothing is told of it. False:
 * a later try has the step.
 */
export async function unclaimStep(
  unit: Unit,
  claim: { readonly runId: string; readonly step: number; readonly attempt: number },
): Promise<boolean> {
  const taken = await change(
    unit.em,
    `update run_steps set attempt = attempt - 1 where run_id = ? and step = ? and tool_call_id is null and attempt = ? and status = 'running'`,
    [claim.runId, claim.step, claim.attempt],
  );
  return taken > 0;
}
