import { sql, type UpdateObject } from 'kysely';
import { now } from '../../expressions.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { Tables } from '../../table-types.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { InvitationAnswer } from './acceptance.ts';
import type { MadeBy } from '../../identity/people/creator.ts';
import type { Invitation } from './invitation.entity.ts';
import { invitationColumns, statusOf, type InvitationRow } from './invitations.ts';

const daysFromNow = (days: number) => sql<string>`now() + make_interval(days => ${days})`;

/** The user that an accepted invitation creates. */
export interface Acceptance {
  readonly invitation: InvitationAnswer;
  readonly tokenHash: Buffer;
  readonly userId: string;
  readonly email: string;
  readonly fullName: string | null;
  readonly passwordHash: string;
}

/** Accepts an open invitation and creates its user, unless the address is taken. Returns whether each of the two was done. */
export async function writeAcceptance(tx: TenantTransaction, { invitation, tokenHash, userId, email, fullName, passwordHash }: Acceptance) {
  return row(
    tx.em,
    query
      .with('won', (of) =>
        of
          .updateTable('invitations')
          .set(({ eb }) => ({
            status: 'accepted' as const,
            acceptedAt: now,
            acceptedUserId: userId,
            version: eb('version', '+', 1),
            updatedAt: now,
          }))
          .where('id', '=', invitation.id)
          .where('tokenHash', '=', tokenHash)
          .where('status', '=', 'pending')
          .where('expiresAt', '>', now)
          .returning(['role', 'scope', 'organizationId', 'workspaceId']),
      )
      .with('made', (of) =>
        of
          .insertInto('users')
          .columns(['id', 'email', 'fullName', 'role', 'scope', 'organizationId', 'workspaceId'])
          .expression(({ selectFrom }) =>
            selectFrom('won')
              .select([sql`${userId}::uuid`.as('id'), sql`${email}::text`.as('email'), sql`${fullName}::text`.as('fullName')])
              .select(['won.role', 'won.scope', 'won.organizationId', 'won.workspaceId']),
          )
          .onConflict((conflict) => conflict.column('email').where('deletedAt', 'is', null).doNothing())
          .returning(['id', 'organizationId']),
      )
      .with('credential', (of) =>
        of
          .insertInto('user_credentials')
          .columns(['userId', 'organizationId', 'passwordHash', 'emailVerifiedAt'])
          .expression(({ selectFrom }) =>
            selectFrom('made').select([
              'made.id',
              'made.organizationId',
              sql`${passwordHash}::text`.as('passwordHash'),
              now.as('verifiedAt'),
            ]),
          ),
      )
      .selectNoFrom(({ exists, selectFrom }) => [
        exists(selectFrom('won').select('won.role')).$castTo<boolean>().as('won'),
        exists(selectFrom('made').select('made.id')).$castTo<boolean>().as('made'),
      ]),
  );
}

/** Whether an address belongs to a user of an organization. */
export async function isMemberAddress(tx: TenantTransaction, organizationId: string, email: string): Promise<boolean> {
  const member = query
    .selectFrom('users')
    .select('id')
    .where('organizationId', '=', organizationId)
    .where('email', '=', email)
    .where('deletedAt', 'is', null);
  return (await row(tx.em, member)) !== null;
}

/** Counts a mail of an invitation; returns its workspace and the number of mails, or null when it no longer exists. */
export async function countSent(tx: TenantTransaction, invitationId: string) {
  return row(
    tx.em,
    query
      .updateTable('invitations')
      .set(({ eb }) => ({ sentAt: now, sendCount: eb('sendCount', '+', 1), version: eb('version', '+', 1), updatedAt: now }))
      .where('id', '=', invitationId)
      .returning(['workspaceId', 'sendCount']),
  );
}

/** A new invitation that meets the rules. */
export interface NewInvitation {
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly scope: Invitation['scope'];
  /** Normalized. */
  readonly email: string;
  readonly role: Invitation['role'];
  readonly invitedByUserId: string | null;
  /** Null: made by a person's session, or by the deployment itself. */
  readonly madeBy: MadeBy | null;
  readonly invitationDays: number;
}

/** Frees the address of an expired invitation, also where the caller doesn't see it; returns false when there is none. */
export async function expireInvitation(tx: TenantTransaction, organizationId: string, email: string): Promise<boolean> {
  const freed = await row(tx.em, query.selectNoFrom(sql<boolean>`gate_expire_invitation(${organizationId}::uuid, ${email})`.as('isFreed')));
  return freed?.isFreed === true;
}

/** Replaces token, expiry and inviter of an invitation. */
export function writeRenewed(
  tx: TenantTransaction,
  renewed: Pick<NewInvitation, 'invitedByUserId' | 'madeBy' | 'invitationDays'> & { readonly id: string; readonly tokenHash: Buffer },
): Promise<InvitationRow> {
  const { tokenHash, invitedByUserId, madeBy } = renewed;
  return changed(tx, renewed.id, {
    tokenHash,
    expiresAt: daysFromNow(renewed.invitationDays),
    queuedAt: sql<string>`clock_timestamp()`,
    resendCount: sql<number>`resend_count + 1`,
    invitedByUserId,
    credentialKind: madeBy?.kind ?? null,
    credentialId: madeBy?.id ?? null,
    unvouchedAt: null,
  });
}

/** Revokes a locked invitation: its token is invalid from then on. */
export function setRevoked(tx: TenantTransaction, invitationId: string): Promise<InvitationRow> {
  return changed(tx, invitationId, { status: 'revoked' });
}

/** Stores an invitation; returns null when one for the same address is pending in the organization. */
export async function insertInvitation(
  tx: TenantTransaction,
  invitation: NewInvitation & { readonly id: string; readonly tokenHash: Buffer },
): Promise<InvitationRow | null> {
  const { id, organizationId, workspaceId, scope, email, role, tokenHash, invitedByUserId, madeBy, invitationDays } = invitation;
  const named = { id, organizationId, workspaceId, scope, email, role, tokenHash, invitedByUserId };
  return row(
    tx.em,
    query
      .insertInto('invitations')
      .values({
        ...named,
        credentialKind: madeBy?.kind ?? null,
        credentialId: madeBy?.id ?? null,
        expiresAt: daysFromNow(invitationDays),
      })
      .onConflict((conflict) => conflict.columns(['organizationId', 'email']).where('status', '=', sql.lit('pending')).doNothing())
      .returning(invitationColumns)
      .returning(statusOf('invitations').as('status')),
  );
}

async function changed(tx: TenantTransaction, id: string, set: UpdateObject<Tables, 'invitations'>): Promise<InvitationRow> {
  const written = await row(
    tx.em,
    query
      .updateTable('invitations')
      .set(set)
      .set(({ eb }) => ({ version: eb('version', '+', 1), updatedAt: sql<string>`clock_timestamp()` }))
      .where('id', '=', id)
      .where('status', '=', 'pending')
      .returning(invitationColumns)
      .returning(statusOf('invitations').as('status')),
  );
  if (!written) throw new Error('a locked invitation was not changed');
  return written;
}
