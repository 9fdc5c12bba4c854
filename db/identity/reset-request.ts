import { noteOpened } from '../mail.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Life of the token that sets a forgotten password, in minutes. */
const resetMinutes = 30;

const ofUser = "user_id = ? and purpose = 'password_reset'";

/** Whether the token of a mail may still be mailed, and until when it is good. */
export type TokenState = { readonly state: 'open'; readonly expiresAt: string } | { readonly state: 'expired' | 'void' };

export interface ResetRequest {
  /** Id of the mail's outbox row: the request's own, so that a second try finds the row that the first has made. Ids grow with time. */
  readonly outboxId: string;
  readonly userId: string;
  readonly organizationId: string | null;
  readonly tokenHash: Buffer;
}

/**
 * Makes the challenge that a reset token answers, once a request. Only the newest request counts: older ones of the user die, and one
 * that arrives after a newer makes none, nor one of somebody who has been deactivated meanwhile.
 */
export async function openReset(tx: TenantTransaction, { outboxId, userId, organizationId, tokenHash }: ResetRequest): Promise<TokenState> {
  // Two requests at once take turns, so that the older sees the newer or dies by it.
  await row(tx.em, "select pg_advisory_xact_lock(hashtextextended('password_reset:' || ?, 0))", [userId]);
  if (await noteOpened(tx, outboxId)) {
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
  return tokenState(tx, { userId, tokenHash });
}

/** The state of a challenge whose token is to be mailed. */
export async function tokenState(
  tx: TenantTransaction,
  { userId, tokenHash }: { readonly userId: string; readonly tokenHash: Buffer },
): Promise<TokenState> {
  const found = await row<{ expires_at: string; is_used: boolean; is_over: boolean }>(
    tx.em,
    `select expires_at, used_at is not null as is_used, expires_at <= now() as is_over
    from auth_challenges where token_hash = ? and user_id = ? and purpose <> 'login'`,
    [tokenHash, userId],
  );

  if (!found || found.is_used) return { state: 'void' };
  return found.is_over ? { state: 'expired' } : { state: 'open', expiresAt: found.expires_at };
}
