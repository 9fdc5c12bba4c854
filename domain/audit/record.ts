import { writeAudit, queueAudit, type AuditAction, type AuditOptions } from '../../db/audit/audit.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/** Writes what an activity or a command has changed, in the transaction of the change; returns the entry's id. There is no request behind it. */
export function recordChange(tx: TenantTransaction, { action, note }: Pick<AuditOptions, 'action' | 'note'>): Promise<string> {
  return writeAudit(tx, { action, operationId: null, note, ip: null, userAgent: null });
}

/** Writes what a request has done, with the transaction's next statement or its commit. */
export function recordRequest(tx: TenantTransaction, entry: Omit<AuditOptions, 'outcome'>): Promise<void> {
  return queueAudit(tx, entry);
}

/** Writes what a request tried and was refused. The log has no action for reading: an operation that is not audited counts as part of the impersonation. */
export function recordRefused(
  tx: TenantTransaction,
  { action, ...entry }: Omit<AuditOptions, 'action' | 'outcome' | 'demandsOpen'> & { readonly action: AuditAction | 'none' },
): Promise<string> {
  return writeAudit(tx, { ...entry, action: action === 'none' ? 'impersonate' : action, outcome: 'denied' });
}
