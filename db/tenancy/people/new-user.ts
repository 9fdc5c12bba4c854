import type { Role, Scope } from '../../../workflows/contracts/access.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { userColumns, type UserRow } from './users.ts';

export interface NewUser {
  readonly id: string;
  readonly email: string;
  readonly fullName: string | null;
  readonly role: Role;
  readonly scope: Scope;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly passwordHash: string | null;
  /** The mail that asks for a first password: its outbox row, the digest of its token, and its lifetime in days. */
  readonly firstPassword: { readonly outboxId: string; readonly tokenHash: Buffer; readonly days: number } | null;
}

// Users who accepted an invitation don't count: they joined by themselves. The newest `limit` by id are all that a full day can hold.
const madeToday = (limit: number) => `(select count(*) from (
    select made.created_at from users made where made.organization_id = ?::uuid
      and not exists (select from invitations i where i.organization_id = made.organization_id and i.accepted_user_id = made.id)
    order by made.id desc limit ${limit}) newest
  where newest.created_at > now() - interval '24 hours')`;

/** Stores a user with credentials and the challenge of the mail. Returns null when the organization has made `maxADay` users today. A taken address is 409. */
export function writeUser(tx: TenantTransaction, user: NewUser, maxADay: number): Promise<UserRow | null> {
  const { firstPassword } = user;
  return row<UserRow>(
    tx.em,
    `with u as (
       insert into users (id, email, full_name, role, scope, organization_id, workspace_id)
       select ?::uuid, ?, ?, ?, ?, ?::uuid, ?::uuid where ?::uuid is null or ${madeToday(maxADay)} < ${maxADay}
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
}
