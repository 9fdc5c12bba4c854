import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/**
 * Takes back the claim of a try that has called nothing and said nothing: the next one has its number again and nothing is told of it. False:
 * a later try has the step. May be repeated: a commit whose answer was lost has done it.
 */
export async function unclaimStep(
  tx: TenantTransaction,
  claim: { readonly runId: string; readonly step: number; readonly attempt: number },
): Promise<boolean> {
  const taken = await row(
    tx.em,
    `with taken as (
       update run_steps set attempt = attempt - 1 where run_id = ? and step = ? and tool_call_id is null and attempt = ? and status = 'running' returning id
     )
     select from run_steps s where s.run_id = ? and s.step = ? and s.tool_call_id is null and (s.attempt = ?::int - 1 or exists (select from taken))`,
    [claim.runId, claim.step, claim.attempt, claim.runId, claim.step, claim.attempt],
  );
  return taken !== null;
}
