import { change, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { isAskerStanding } from '../sessions/session-right.sql.ts';

/** The one purpose for which the token of a mail is valid. */
export type MailPurpose = 'password_reset' | 'email_confirm';

const confirmHours = 24;

/** A token to be used up, by its digest. */
export interface UsedToken {
  readonly hash: Buffer;
  readonly purpose: MailPurpose;
  readonly userId: string;
}

/** Uses up an open token and returns its payload; null when it is no longer open. */
export function useMailToken(
  tx: TenantTransaction,
  { hash, purpose, userId }: UsedToken,
): Promise<{ readonly email: string | null } | null> {
  return row<{ email: string | null }>(
    tx.em,
    // Taken behind the credential's lock, in the same order as every operation that ends sign-ins.
    `with held as (select c.user_id from user_credentials c where c.user_id = ?::uuid for no key update)
     update auth_challenges c set used_at = now() from held
      where c.token_hash = ? and c.purpose = ? and c.user_id = held.user_id and c.used_at is null and c.expires_at > now()
        and ${isAskerStanding('c.session_id')}
      returning c.payload ->> 'email' as email`,
    [userId, hash, purpose],
  );
}

/** Creates the challenge that proves an address, replacing older ones of the user, and stores the address as pending. Both end with the session that asks. */
export async function openConfirmation(
  tx: TenantTransaction,
  confirmation: {
    readonly outboxId: string;
    readonly tokenHash: Buffer;
    readonly userId: string;
    readonly organizationId: string | null;
    readonly sessionId: string;
    readonly email: string;
  },
): Promise<void> {
  const { outboxId, userId, organizationId, sessionId, email } = confirmation;

  await change(
    tx.em,
    `with wanted as (
       insert into user_credentials (user_id, organization_id, pending_email) values (?::uuid, ?::uuid, ?)
       on conflict (user_id) do update set pending_email = excluded.pending_email, updated_at = now()
       returning user_id, organization_id, pending_email),
     older as (
       delete from auth_challenges c using wanted where c.user_id = wanted.user_id and c.purpose = 'email_confirm' and c.used_at is null)
     insert into auth_challenges (id, purpose, user_id, organization_id, session_id, token_hash, attempts, payload, created_at, expires_at)
     select ?::uuid, 'email_confirm', user_id, organization_id, ?::uuid, ?::bytea, 0, jsonb_build_object('email', pending_email), now(),
       now() + make_interval(hours => ${confirmHours}) from wanted`,
    [userId, organizationId, email, outboxId, sessionId, confirmation.tokenHash],
  );
}
