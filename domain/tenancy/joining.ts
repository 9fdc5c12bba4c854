import { assertScopeActive } from '../../db/frozen.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { findJoining } from '../../db/tenancy/people/acceptance.ts';

/** What an organization says about who joins it. */
export interface JoiningRules {
  readonly emailDomains: readonly string[];
  /** Life of an invitation or a first password's mail. */
  readonly invitationDays: number;
}

/**
 * The rules of an organization, under its row's lock: of two who join at once the second sees the first, so that no limit is passed.
 * 423 when it is frozen.
 */
export async function lockJoining(tx: TenantTransaction, organizationId: string): Promise<JoiningRules> {
  const found = await findJoining(tx, organizationId);
  if (!found) throw fail('not_found');
  assertScopeActive(found.status);
  return { emailDomains: found.domains, invitationDays: found.days };
}

/** 422 for a stored address outside the organization's domains; none are set: any address will do. */
export function refuseDomain(email: string, { emailDomains }: Pick<JoiningRules, 'emailDomains'>): void {
  if (!admitsDomain(email, { emailDomains }))
    throw invalid('/email', 'email_domain', 'the organization admits no addresses of this domain');
}

/** Whether a stored address lies in the organization's domains; none are set: any address does. */
export function admitsDomain(email: string, { emailDomains }: Pick<JoiningRules, 'emailDomains'>): boolean {
  if (emailDomains.length === 0) return true;
  const domain = email.slice(email.lastIndexOf('@') + 1);
  return emailDomains.some((allowed) => allowed.normalize('NFC').toLowerCase() === domain);
}
