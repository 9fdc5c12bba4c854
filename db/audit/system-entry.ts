import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { newId } from '../ids.ts';
import { emptyOutgoing, nobodyTenant, organizationTenant, systemActor } from '../transaction.ts';
import { writeAudit, type AuditOptions, type AuditSubject } from './audit.ts';

/**
 * Writes an entry in the name of the system, in the transaction of what it tells, which is no tenant's: a sweep or a command. It lies in the organization of
 * its subject; null is the platform. Gives its id.
 */
export function writeSystemEntry(
  em: SqlEntityManager,
  { action, note }: { readonly action: AuditOptions['action']; readonly note: AuditSubject & { readonly organizationId: string | null } },
): Promise<string> {
  const tenant = note.organizationId === null ? nobodyTenant : organizationTenant(note.organizationId);
  const tx = { em, tenant, actor: systemActor, correlationId: newId(), outgoing: emptyOutgoing() };
  return writeAudit(tx, { action, operationId: null, note, ip: null, userAgent: null });
}
