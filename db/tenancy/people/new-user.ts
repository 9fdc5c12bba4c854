import { sql } from 'kysely';
import type { Role, Scope } from '../../../workflows/contracts/access.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { hasFactor, userColumns, type UserRow } from '../../identity/people/users.ts';

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
const madeToday = (organizationId: string | null, limit: number) => sql<number>`(select count(*) from (
    select made.created_at from users made where made.organization_id = ${organizationId}::uuid
      and not exists (select from invitations i where i.organization_id = made.organization_id and i.accepted_user_id = made.id)
    order by made.id desc limit ${limit}) newest
  where newest.created_at > now() - interval '24 hours')`;

/** Stores a user with credentials and the challenge of the mail. Returns null when the organization has made `maxADay` users today. A taken address is 409. */
export async function writeUser(tx: TenantTransaction, user: NewUser, maxADay: number): Promise<UserRow | null> {
  const { organizationId } = user;
  const mail = user.firstPassword;
  return row(
    tx.em,
    query
      .with('u', (of) =>
        of
          .insertInto('users')
          .columns(['id', 'email', 'fullName', 'role', 'scope', 'organizationId', 'workspaceId'])
          .expression(
            query
              .selectNoFrom([
                sql`${user.id}::uuid`.as('id'),
                sql`${user.email}::text`.as('email'),
                sql`${user.fullName}::text`.as('fullName'),
              ])
              .select([sql`${user.role}::text`.as('role'), sql`${user.scope}::text`.as('scope')])
              .select([sql`${organizationId}::uuid`.as('organizationId'), sql`${user.workspaceId}::uuid`.as('workspaceId')])
              .where(sql<boolean>`(${organizationId}::uuid is null or ${madeToday(organizationId, maxADay)} < ${maxADay})`),
          )
          .returning(userColumns),
      )
      .with('credential', (of) =>
        of
          .insertInto('user_credentials')
          .columns(['userId', 'organizationId', 'passwordHash'])
          .expression(({ selectFrom }) =>
            selectFrom('u').select(['u.id', 'u.organizationId', sql`${user.passwordHash}::text`.as('passwordHash')]),
          ),
      )
      .with('challenge', (of) =>
        of
          .insertInto('auth_challenges')
          .columns(['id', 'purpose', 'userId', 'organizationId', 'tokenHash', 'attempts', 'payload', 'expiresAt'])
          .expression(({ selectFrom }) =>
            selectFrom('u')
              .select([
                sql`${mail?.outboxId ?? null}::uuid`.as('id'),
                sql`'password_reset'`.as('purpose'),
                'u.id as userId',
                'u.organizationId',
              ])
              .select([sql`${mail?.tokenHash ?? null}::bytea`.as('tokenHash'), sql`0`.as('attempts'), sql`'{}'::jsonb`.as('payload')])
              .select(sql`now() + make_interval(days => ${mail?.days ?? 0}::int)`.as('expiresAt'))
              .where(sql<boolean>`${mail !== null}::boolean`),
          ),
      )
      .selectFrom('u')
      .select(userColumns)
      .select(({ ref }) => hasFactor(ref('u.id')).as('mfaEnabled')),
  );
}
