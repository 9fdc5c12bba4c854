import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { newId } from '../../db/ids.ts';
import { lockDue, type PurgeRow } from '../../db/operator/purges.ts';
import { emptyOutgoing, organizationTenant, systemActor } from '../../db/transaction.ts';
import type { Outgoing, TenantTransaction } from '../../db/tenant-transaction.ts';
import { startPurge } from '../tenancy/stops.ts';
import { reopenPurge, insertPurge, type PurgeCause } from '../../db/operator/write-purges.ts';

/**
 * Requests the purge of a locked, deleting organization: returns the one that is queued or running, the failed one reopened, or a new one. Its workflow is
 * started or signalled after the commit.
 */
export async function requestPurge(tx: TenantTransaction, organizationId: string, cause: PurgeCause): Promise<PurgeRow> {
  const purge = (await reopenPurge(tx, organizationId)) ?? (await insertPurge(tx, organizationId, cause));

  if (!purge) throw new Error('a purge was not made');
  await startPurge(tx, organizationId);
  return purge;
}

/**
 * Requests the purge of an organization whose grace period is over, unless it was resumed or its purge requested meanwhile. `outgoing` holds what leaves after
 * the commit. Uses the sweeper's pool.
 */
export async function requestDuePurge(em: SqlEntityManager, organizationId: string): Promise<Outgoing> {
  const outgoing = emptyOutgoing();
  if (!(await lockDue(em, organizationId))) return outgoing;
  const tx = { em, tenant: organizationTenant(organizationId), actor: systemActor, correlationId: newId(), outgoing };
  await requestPurge(tx, organizationId, { reason: null, requestedByUserId: null });
  return outgoing;
}
