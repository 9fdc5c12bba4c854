import type { Static } from 'typebox';
import type { Caller } from '../../db/caller.ts';
import { callerOfPerson } from '../../domain/identity/callers/caller.ts';
import { readMailToken, type ShownToken } from '../../domain/identity/factors/mail-tokens.ts';
import { accountHash } from '../../db/identity/factors/opaque-tokens.ts';
import { normalizeEmail } from '../../db/identity/people/people.ts';
import { canonicalLocale, changeProfile } from '../../domain/identity/people/profile.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Ctx, IdentifyRequest } from '../http/operation/operation.ts';
import { challengeOf, demandStepUp } from '../http/credentials/role-floor.ts';
import type { MeUpdate } from './me.schema.ts';
import { accountNote, ownAccount } from './own-account.ts';
import type { EmailConfirmBody } from './sign-in.schema.ts';

/** Checks a change before its transaction: a new address requires a fresh step-up, and counts as a mail. */
export async function precheckUpdate({
  deps,
  body,
  caller,
  limits,
  limitAddress,
}: IdentifyRequest<Static<typeof MeUpdate>>): Promise<void> {
  const { email, locale } = body;

  if (typeof locale === 'string') canonicalLocale(locale);
  if (email === undefined) return;
  demandStepUp(caller, challengeOf(deps.env.publicUrl, null, null));
  if (deps.env.mail === null)
    throw fail('state_conflict', {
      reason: 'no_mailer',
      detail: 'This deployment cannot send mail: its operator has set neither SMTP_URL nor MAIL_DIR.',
    });
  await limits.consume([
    { policy: 'mail_account', key: accountHash(deps.keys, normalizeEmail(email)).toString('base64url') },
    { policy: 'mail_ip', key: limitAddress },
  ]);
}

/** Changes the caller's own name and locale, and requests another address. Leaves the account as it is if nothing differs. */
export async function updateProfile(ctx: Ctx, body: Static<typeof MeUpdate>): Promise<void> {
  const account = ownAccount(ctx.caller);
  ctx.audit(accountNote(account, await changeProfile(ctx, ctx.deps.keys, { account, asked: body })));
}

/** An unused, unexpired token. The caller is the user who requested the address. */
export interface Confirmation {
  readonly caller: Caller;
  readonly token: ShownToken;
}

export async function attemptConfirmation({ deps, body }: IdentifyRequest<Static<typeof EmailConfirmBody>>): Promise<Confirmation> {
  const { token: shown } = body;
  const token = await readMailToken(deps.db, shown, 'email_confirm');

  return { caller: callerOfPerson(token.person, null), token };
}
