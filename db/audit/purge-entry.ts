import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { newId } from '../ids.ts';
import { emptyOutgoing, nobodyTenant, organizationTenant, systemActor } from '../transaction.ts';
import { writeAudit } from './audit.ts';

/** Resource type of the log itself. */
export const logResource = 'audit_log';

interface Purged {
  readonly organizationId: string | null;
  readonly resourceType: string;
  readonly counts: Readonly<Record<string, number | string>>;
}

/** Writes the `purge` entry of what retention took from an organization; null is the platform. In the transaction that takes it. Gives its id. */
export async function writePurgeEntry(em: SqlEntityManager, { organizationId, resourceType, counts }: Purged): Promise<string> {
  const tenant = organizationId === null ? nobodyTenant : organizationTenant(organizationId);
  const tx = { em, tenant, actor: systemActor, correlationId: newId(), outgoing: emptyOutgoing() };
  const changes = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, { from: null, to: count }]));
  const note = { resourceType, resourceId: organizationId, organizationId, changes };

  return writeAudit(tx, { action: 'purge', operationId: null, note, ip: null, userAgent: null });
}
