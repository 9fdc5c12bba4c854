import { newId } from '../../db/ids.ts';
import { settleLostCall } from '../../domain/runs/steps/lost-calls.ts';
import { organizationTenant, sweep, systemActor } from '../../db/transaction.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAndSend } from '../support/as-system.ts';
import { lostCallsOfOrganization } from '../../db/runs/steps/lost-call-queries.ts';

/**
 * Settles the calls that are still in flight in an organization whose runs have been stopped, before its rows are deleted: the ledger outlives them. A call
 * that can't be settled does not stop the purge.
 */
export async function settleLostIn(
  { db, dispatch, log }: Pick<ActivityDeps, 'db' | 'dispatch' | 'log'>,
  organizationId: string,
): Promise<void> {
  const options = { tenant: organizationTenant(organizationId), actor: systemActor, correlationId: newId() };
  for (const call of await sweep(db, (em) => lostCallsOfOrganization({ em }, organizationId)))
    await transactAndSend({ db, dispatch }, options, (tx) => settleLostCall(tx, call)).catch((err: unknown) =>
      log.error({ err, run_id: call.runId }, 'call of a purged organization not settled'),
    );
}
