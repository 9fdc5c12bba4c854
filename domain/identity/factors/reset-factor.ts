import { writeAudit } from '../../../db/audit/audit.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { removeFactor } from './factors.ts';

export interface FactorOwner {
  readonly userId: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly hasFactor: boolean;
}

/**
 * Removes a user's second factor and recovery codes, and ends every session and request under way: for a user who has lost them all. Returns false when there
 * was nothing to remove; no trace is left then.
 */
export async function resetFactor(
  tx: TenantTransaction,
  { userId, organizationId, workspaceId, hasFactor }: FactorOwner,
): Promise<boolean> {
  if (!(await removeFactor(tx, { userId, exceptSessionId: null }))) return false;

  await writeAudit(tx, {
    action: 'update',
    operationId: null,
    note: {
      resourceType: 'user',
      resourceId: userId,
      organizationId,
      workspaceId,
      changes: { mfa_enabled: { from: hasFactor, to: false } },
    },
    ip: null,
    userAgent: null,
  });
  return true;
}
