import type { Role, Scope } from '../../workflows/contracts/access.ts';
import { callDefinerFunction } from '../identity/gates.ts';
import type { Person } from '../identity/people.ts';
import type { Databases } from '../databases.ts';

/** An invitation with all that decides about its acceptance. */
export interface InvitationAnswer {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly scope: Exclude<Scope, 'platform'>;
  readonly role: Role;
  /** Pending, and not past its end. */
  readonly isOpen: boolean;
  readonly hasInviter: boolean;
  readonly inviter: Person | null;
  /** The inviter was deactivated since, or the key, grant or client that invited was ended. */
  readonly isUnvouched: boolean;
  /** Domains that the organization admits today; none: any. */
  readonly emailDomains: readonly string[];
  readonly organizationStatus: string;
  readonly isWorkspaceActive: boolean | null;
  readonly isFactorRequired: boolean;
  readonly idleDays: number | null;
  readonly absoluteDays: number | null;
  /** The address is a user's, somewhere; and one of this organization. */
  readonly isUser: boolean;
  readonly isMember: boolean;
}

/** The invitation of a token that was sent to a normalized address; null unless both fit. */
export async function findInvitation(db: Databases, hash: Buffer, email: string): Promise<InvitationAnswer | null> {
  return callDefinerFunction(db, 'gate_invitation($1, $2)', [hash, email]);
}
