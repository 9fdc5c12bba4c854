import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { newId } from '../../db/ids.ts';
import { emptyOutgoing, nobodyTenant, organizationTenant, systemActor } from '../../db/transaction.ts';
import { writeAudit, type AuditOptions, type AuditSubject } from '../../db/audit/audit.ts';

/**
 * Writes an entry as the system, in the transaction of the change that it records, which belongs to no tenant: a sweep or a command. It lies in the
 * organization of its subject; null is the platform. Returns its id.
 */
export function writeSystemEntry(
  em: SqlEntityManager,
  { action, note }: { readonly action: AuditOptions['action']; readonly note: AuditSubject & { readonly organizationId: string | null } },
): Promise<string> {
  const tenant = note.organizationId === null ? nobodyTenant : organizationTenant(note.organizationId);
  const tx = { em, tenant, actor: systemActor, correlationId: newId(), outgoing: emptyOutgoing() };
  return writeAudit(tx, { action, operationId: null, note, ip: null, userAgent: null });
}

interface Purged {
  readonly organizationId: string | null;
  readonly resourceType: string;
  readonly counts: Readonly<Record<string, number | string>>;
}

/** Writes the `purge` entry of what retention deleted from an organization; null is the platform. In the same transaction as the deletion. Returns its id. */
export async function writePurgeEntry(em: SqlEntityManager, { organizationId, resourceType, counts }: Purged): Promise<string> {
  const changes = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, { from: null, to: count }]));
  const note = { resourceType, resourceId: organizationId, organizationId, changes };

  return writeSystemEntry(em, { action: 'purge', note });
}
