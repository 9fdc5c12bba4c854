import { change, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Lifetime in minutes of the token that resets a forgotten password. */
const resetMinutes = 30;

const ofUser = "user_id = ? and purpose = 'password_reset'";

export interface ResetRequest {
  /** Id of the mail's outbox row, which is also the request's: a second try finds the row that the first has made. Ids grow with time. */
  readonly outboxId: string;
  readonly userId: string;
  readonly organizationId: string | null;
  readonly tokenHash: Buffer;
}

/** Locks the reset requests of a user until the end of the transaction. */
export async function lockResets(tx: TenantTransaction, userId: string): Promise<void> {
  await row(tx.em, "select pg_advisory_xact_lock(hashtextextended('password_reset:' || ?, 0))", [userId]);
}

/** Deletes the older requests of a user and stores this one, unless there is a newer one or the user may not sign in. */
export async function writeReset(tx: TenantTransaction, { outboxId, userId, organizationId, tokenHash }: ResetRequest): Promise<void> {
  await change(tx.em, `delete from auth_challenges where ${ofUser} and id < ?`, [userId, outboxId]);
  await change(
    tx.em,
    `insert into auth_challenges (id, purpose, user_id, organization_id, token_hash, attempts, payload, expires_at)
      select ?, 'password_reset', standing.id, ?::uuid, ?, 0, '{}', now() + make_interval(mins => ${resetMinutes})
      from (select id from users where id = ?::uuid and is_active and deleted_at is null for share) standing
      where not exists (select from auth_challenges where ${ofUser} and id > ?)`,
    [outboxId, organizationId, tokenHash, userId, userId, outboxId],
  );
}
