import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { newId } from '../../db/ids.ts';
import { lockDue, type PurgeRow } from '../../db/operator/purges.ts';
import { emptyOutgoing, organizationTenant, systemActor } from '../../db/transaction.ts';
import type { Outgoing, TenantTransaction } from '../../db/tenant-transaction.ts';
import { startPurge } from './stops.ts';
import { reopenPurge, insertPurge, type PurgeCause } from '../../db/operator/write-purges.ts';

/**
 * Asks for the purge of a locked, deleting organization: the one that is queued or at work, the failed one anew, or a new one. Its workflow is
 * told after the commit.
 */
export async function requestPurge(tx: TenantTransaction, organizationId: string, cause: PurgeCause): Promise<PurgeRow> {
  const purge = (await reopenPurge(tx, organizationId)) ?? (await insertPurge(tx, organizationId, cause));

  if (!purge) throw new Error('a purge was not made');
  await startPurge(tx, organizationId);
  return purge;
}

/** Asks for the purge of an organization whose grace is over, unless it was resumed or asked for meanwhile. What leaves with the commit is in `outgoing`. Sweeper's pool. */
export async function requestDuePurge(em: SqlEntityManager, organizationId: string): Promise<Outgoing> {
  const outgoing = emptyOutgoing();
  if (!(await lockDue(em, organizationId))) return outgoing;
  const tx = { em, tenant: organizationTenant(organizationId), actor: systemActor, correlationId: newId(), outgoing };
  await requestPurge(tx, organizationId, { reason: null, requestedByUserId: null });
  return outgoing;
}
