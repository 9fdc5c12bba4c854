import type { Role, Scope } from '../../../workflows/contracts/access.ts';
import { callDefinerFunction } from '../../identity/lookup/credential-lookup.ts';
import type { Person } from '../../identity/people/people.ts';
import type { Databases } from '../../databases.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** An invitation with all that decides about its acceptance. */
export interface InvitationAnswer {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly scope: Exclude<Scope, 'platform'>;
  readonly role: Role;
  /** Pending and not expired. */
  readonly isOpen: boolean;
  readonly hasInviter: boolean;
  readonly inviter: Person | null;
  /** The inviter was deactivated since, or the inviting key, grant or client was ended. */
  readonly isUnvouched: boolean;
  /** Domains that the organization allows today; empty: any. */
  readonly emailDomains: readonly string[];
  readonly organizationStatus: string;
  readonly isWorkspaceActive: boolean | null;
  readonly isFactorRequired: boolean;
  readonly idleDays: number | null;
  readonly absoluteDays: number | null;
  /** Whether the address belongs to any user, and to a user of this organization. */
  readonly isUser: boolean;
  readonly isMember: boolean;
}

/** Returns the invitation of a token that was sent to a normalized address, or null unless both match. */
export async function findInvitation(db: Databases, hash: Buffer, email: string): Promise<InvitationAnswer | null> {
  return callDefinerFunction(db, 'gate_invitation($1, $2)', [hash, email]);
}

/** Returns an organization's state and its rules for joining, under its row's lock, or null when there is none. */
export async function findJoining(tx: TenantTransaction, organizationId: string) {
  return row(
    tx.em,
    query
      .selectFrom('organizations as o')
      .innerJoin('organization_settings as s', 's.organizationId', 'o.id')
      .select(['o.status', 's.allowedEmailDomains as domains', 's.invitationDays as days'])
      .where('o.id', '=', organizationId)
      .forNoKeyUpdate('o'),
  );
}
