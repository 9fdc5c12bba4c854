import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { newId } from '../ids.ts';
import { row } from '../sql.ts';
import { emptyOutgoing, nobodyTenant, organizationTenant, systemActor } from '../transaction.ts';
import { writeAudit } from './audit.ts';
import { inChain } from './chain.ts';

/** Resource type of the log itself. */
export const logResource = 'audit_log';

/** Writes the `purge` entry of what retention took from an organization; null is the platform. In the transaction that takes it. */
export async function writePurgeEntry(
  em: SqlEntityManager,
  purged: {
    readonly organizationId: string | null;
    readonly resourceType: string;
    readonly counts: Readonly<Record<string, number>>;
  },
): Promise<void> {
  const { organizationId, resourceType, counts } = purged;
  const tenant = organizationId === null ? nobodyTenant : organizationTenant(organizationId);
  const unit = { em, tenant, actor: systemActor, correlationId: newId(), outgoing: emptyOutgoing() };
  const changes = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, { from: null, to: count }]));
  const note = { resourceType, resourceId: organizationId, organizationId, changes };

  await writeAudit(unit, { action: 'purge', operationId: null, note, ip: null, userAgent: null });
}

/** Number of the last seal that the chain's own purge entries account for; 0 when nothing was purged. */
export async function latestPurge(em: SqlEntityManager, organizationId: string | null): Promise<number> {
  const own = inChain(organizationId);
  const found = await row<{ through: number | null }>(
    em,
    `select max((changes -> 'through_seal' ->> 'to')::bigint) as through from audit_entries
     where ${own.sql} and resource_type = ? and action = 'purge'`,
    [...own.params, logResource],
  );
  return found?.through ?? 0;
}
