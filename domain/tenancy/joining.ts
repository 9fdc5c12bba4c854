import { assertScopeActive } from '../../db/frozen.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { findJoining } from '../../db/tenancy/people/acceptance.ts';

/** An organization's rules about who may join it. */
export interface JoiningRules {
  readonly emailDomains: readonly string[];
  /** Lifetime, in days, of an invitation or of the mail for a first password. */
  readonly invitationDays: number;
}

/**
 * Returns the rules of an organization, under its row's lock: of two concurrent joins the second sees the first, so that no limit is exceeded. Throws 423 when
 * it is frozen.
 */
export async function lockJoining(tx: TenantTransaction, organizationId: string): Promise<JoiningRules> {
  const found = await findJoining(tx, organizationId);
  if (!found) throw fail('not_found');
  assertScopeActive(found.status);
  return { emailDomains: found.domains, invitationDays: found.days };
}
