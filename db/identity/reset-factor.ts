import { writeAudit } from '../audit/audit.ts';
import { change } from '../sql.ts';
import type { Unit } from '../unit.ts';
import { revokeSessionsOf } from './endings.ts';

export interface FactorOwner {
  readonly userId: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly hasFactor: boolean;
}

/**
 * Takes a user's second factor and recovery codes away, with every session and half-done sign-in: for somebody who has lost them all.
 * Gives false when there was nothing to take, which leaves no trace.
 */
export async function resetFactor(unit: Unit, { userId, organizationId, workspaceId, hasFactor }: FactorOwner): Promise<boolean> {
  const factors = await change(unit.em, 'delete from totp_factors where user_id = ?', [userId]);
  const codes = await change(unit.em, 'delete from recovery_codes where user_id = ?', [userId]);
  if (factors + codes === 0) return false;

  await change(unit.em, "delete from auth_challenges where user_id = ? and purpose = 'login'", [userId]);
  await revokeSessionsOf(unit, { userId, reason: 'factor_removed' });
  await writeAudit(unit, {
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
