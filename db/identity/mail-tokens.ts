import { fail } from '../../workflows/contracts/failure.ts';
import { change, row } from '../sql.ts';
import type { Databases } from '../orm.ts';
import type { Unit } from '../unit.ts';
import { findMailToken, type MailTokenAnswer } from './gates.ts';
import { isOpaqueToken, tokenHash } from './opaque-tokens.ts';

/** What the token of a mail is good for, and nothing else. */
export type MailPurpose = 'password_reset' | 'email_confirm';

const confirmHours = 24;

/** Whoever shows a token that is open; `hash` is what is stored of it. */
export interface ShownToken extends MailTokenAnswer {
  readonly hash: Buffer;
}

/**
 * Whose token it is. Throws one 410 for one that is garbled, unknown, used, expired, replaced, of another purpose, or of a user who may not sign
 * in.
 */
export async function readMailToken(db: Databases, token: string, purpose: MailPurpose): Promise<ShownToken> {
  if (!isOpaqueToken('mail', token)) throw goneToken();
  const hash = tokenHash(token);
  const found = await findMailToken(db, hash, purpose);

  if (!found?.isOpen || !found.person.isActive) throw goneToken();
  return { ...found, hash };
}

/** Uses a token up: of any number at once one gets its payload, the others 410. */
export async function takeMailToken(
  unit: Unit,
  { hash, purpose, userId }: { readonly hash: Buffer; readonly purpose: MailPurpose; readonly userId: string },
): Promise<{ readonly email: string | null }> {
  const taken = await row<{ email: string | null }>(
    unit.em,
    `update auth_challenges set used_at = now()
      where token_hash = ? and purpose = ? and user_id = ?::uuid and used_at is null and expires_at > now() returning payload ->> 'email' as email`,
    [hash, purpose, userId],
  );

  if (!taken) throw goneToken();
  return taken;
}

/** Makes the challenge that proves an address, in place of older ones of the user, and notes the address as the one that is wanted. */
export async function openConfirmation(
  unit: Unit,
  confirmation: {
    readonly outboxId: string;
    readonly tokenHash: Buffer;
    readonly userId: string;
    readonly organizationId: string | null;
    readonly email: string;
  },
): Promise<void> {
  const { outboxId, userId, organizationId, email } = confirmation;

  await change(
    unit.em,
    `with older as (delete from auth_challenges where user_id = ?::uuid and purpose = 'email_confirm' and used_at is null),
     wanted as (
       insert into user_credentials (user_id, organization_id, pending_email) values (?::uuid, ?::uuid, ?)
       on conflict (user_id) do update set pending_email = excluded.pending_email, updated_at = now())
     insert into auth_challenges (id, purpose, user_id, organization_id, token_hash, attempts, payload, created_at, expires_at)
     values (?::uuid, 'email_confirm', ?::uuid, ?::uuid, ?, 0, jsonb_build_object('email', ?::text), now(), now() + make_interval(hours => ${confirmHours}))`,
    [userId, userId, organizationId, email, outboxId, userId, organizationId, confirmation.tokenHash, email],
  );
}

function goneToken() {
  return fail('gone', { detail: 'this link has been used, replaced, or is too old' });
}
