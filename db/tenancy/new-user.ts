import type { Role, Scope } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { userColumns, type UserRow } from './users.ts';

/** Users that an organization may make in 24 hours: an address in use anywhere is refused, so each try tells something. */
const maxUsersADay = 200;

export interface NewUser {
  readonly id: string;
  readonly email: string;
  readonly fullName: string | null;
  readonly role: Role;
  readonly scope: Scope;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly passwordHash: string | null;
  /** The mail that asks for a first password: its outbox row, the digest of its token, and its life. */
  readonly firstPassword: { readonly outboxId: string; readonly tokenHash: Buffer; readonly days: number } | null;
}

// Those who came by an invitation don't count: they were asked, not made. The newest 200 by id are all that a full day can hold.
const madeToday = `(select count(*) from (
    select made.created_at from users made where made.organization_id = ?::uuid
      and not exists (select from invitations i where i.organization_id = made.organization_id and i.accepted_user_id = made.id)
    order by made.id desc limit ${maxUsersADay}) newest
  where newest.created_at > now() - interval '24 hours')`;

/**
 * Makes a user, in an organization that the transaction has locked, with credentials and, without a password, the challenge of the mail that
 * asks for one; the address is not verified. One statement. 429 beyond the day's number, 409 `already_exists` for an address in use anywhere.
 */
export async function insertUser(tx: TenantTransaction, user: NewUser): Promise<UserRow> {
  const { firstPassword } = user;
  const made = await row<UserRow>(
    tx.em,
    `with u as (
       insert into users (id, email, full_name, role, scope, organization_id, workspace_id)
       select ?::uuid, ?, ?, ?, ?, ?::uuid, ?::uuid where ?::uuid is null or ${madeToday} < ${maxUsersADay}
       returning *),
     credential as (
       insert into user_credentials (user_id, organization_id, password_hash) select id, organization_id, ?::text from u),
     challenge as (
       insert into auth_challenges (id, purpose, user_id, organization_id, token_hash, attempts, payload, expires_at)
       select ?::uuid, 'password_reset', id, organization_id, ?::bytea, 0, '{}', now() + make_interval(days => ?::int) from u
       where ?::boolean)
     select ${userColumns('u')} from u`,
    [
      user.id,
      user.email,
      user.fullName,
      user.role,
      user.scope,
      user.organizationId,
      user.workspaceId,
      user.organizationId,
      user.organizationId,
      user.passwordHash,
      firstPassword?.outboxId ?? null,
      firstPassword?.tokenHash ?? null,
      firstPassword?.days ?? 0,
      firstPassword !== null,
    ],
  );
  if (!made) {
    throw fail('rate_limited', {
      detail: `an organization makes at most ${maxUsersADay} users a day`,
      retryAfterS: 3_600,
      context: { violated_policies: ['user_create'] },
    });
  }
  return made;
}
