import { sql } from 'kysely';
import type { TokenState } from '../../identity/factors/token-state.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** What a mail to a user says about them. */
export type Reader = NonNullable<Awaited<ReturnType<typeof readReader>>>;

const readerById = prepared(({ userId }: ParametersOf<{ readonly userId: string }>) =>
  query
    .selectFrom('users as u')
    .leftJoin('organizations as o', 'o.id', 'u.organizationId')
    .select(['u.email', 'u.fullName', 'o.name as organizationName'])
    .where('u.id', '=', userId)
    .where('u.isActive', '=', sql.lit(true))
    .where('u.deletedAt', 'is', null)
    .where('o.purgedAt', 'is', null),
);

/** Returns a user who may get mails: active, and of an organization that has not been purged. */
export async function readReader(tx: TenantTransaction, userId: string) {
  return row(tx.em, readerById({ userId }));
}

/** What the mail of an invitation says. */
export interface InvitationFacts {
  readonly email: string;
  readonly role: string;
  readonly organizationName: string;
  readonly workspaceName: string | null;
  readonly inviterName: string | null;
}

export interface InvitationMail {
  readonly invitationId: string;
  /** The token of this very mail: a newer mail replaces it in the row, and makes this one invalid. */
  readonly tokenHash: Buffer;
}

const invitationOfMail = prepared(({ invitationId, tokenHash }: ParametersOf<InvitationMail>) =>
  query
    .selectFrom('invitations as i')
    .innerJoin('organizations as o', 'o.id', 'i.organizationId')
    .leftJoin('workspaces as w', 'w.id', 'i.workspaceId')
    .leftJoin('users as u', 'u.id', 'i.invitedByUserId')
    .select(['i.email', 'i.role', 'o.name as organizationName', 'w.name as workspaceName', 'u.fullName as inviterName', 'i.expiresAt'])
    .select(({ ref }) => sql<boolean>`${ref('i.expiresAt')} <= now()`.as('isOver'))
    .where('i.id', '=', invitationId)
    .where('i.tokenHash', '=', tokenHash)
    .where('i.status', '=', sql.lit('pending'))
    .where('o.purgedAt', 'is', null),
);

/** Returns an invitation to be mailed, in the tenant of its organization. */
export async function readInvitation(
  tx: TenantTransaction,
  mail: InvitationMail,
): Promise<{ readonly token: TokenState; readonly facts: InvitationFacts | null }> {
  const found = await row(tx.em, invitationOfMail(mail));
  if (!found) return { token: { state: 'void' }, facts: null };
  const { expiresAt, isOver, ...facts } = found;
  return isOver ? { token: { state: 'expired' }, facts: null } : { token: { state: 'open', expiresAt }, facts };
}
