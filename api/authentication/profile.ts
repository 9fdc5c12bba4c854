import type { Static } from 'typebox';
import type { Caller } from '../../db/caller.ts';
import { callerOfPerson } from '../../db/identity/caller.ts';
import { readMailToken, type ShownToken } from '../../db/identity/mail-tokens.ts';
import { accountHash } from '../../db/identity/opaque-tokens.ts';
import { normalizeEmail } from '../../db/identity/people.ts';
import { cancelAddress, lockProfile, requestAddress, writeProfile, type Profile } from '../../db/identity/profile.ts';
import { checkIfMatch } from '../../db/scope.ts';
import { refuseDomain } from '../../db/tenancy/joining.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { AuditNote, Ctx, IdentifyRequest } from '../http/operation/operation.ts';
import { challengeOf, demandStepUp } from '../http/credentials/role-floor.ts';
import type { MeUpdate } from './me.schema.ts';
import { accountNote, ownAccount } from './own-account.ts';
import type { EmailConfirmBody } from './password.schema.ts';

/** An address is changed by somebody who has just verified themselves, and costs a mail. */
export async function admitUpdate({ deps, body, caller, limits, limitAddress }: IdentifyRequest<Static<typeof MeUpdate>>): Promise<void> {
  // `mount` has validated the body against MeUpdate before.
  const { email, locale } = body;

  if (typeof locale === 'string') canonicalLocale(locale);
  if (email === undefined) return;
  demandStepUp(caller, challengeOf(deps.env.publicUrl, null, null));
  if (deps.env.mail === null)
    throw fail('state_conflict', {
      reason: 'no_mailer',
      detail: 'this deployment sends no mails: its operator has set neither SMTP_URL nor MAIL_DIR',
    });
  await limits.consume([
    { policy: 'mail_account', key: accountHash(deps.keys, normalizeEmail(email)).toString('base64url') },
    { policy: 'mail_ip', key: limitAddress },
  ]);
}

/** Changes one's own name and locale, and asks for another address. Nothing is written when nothing differs. */
export async function updateProfile(ctx: Ctx, body: Static<typeof MeUpdate>): Promise<void> {
  const account = ownAccount(ctx.caller);
  const profile = await lockProfile(ctx, account.userId);
  checkIfMatch(ctx, profile.version);

  const fullName = body.full_name === undefined ? profile.fullName : body.full_name;
  const locale = typeof body.locale === 'string' ? canonicalLocale(body.locale) : body.locale === null ? null : profile.locale;
  const hasAsked =
    body.email !== undefined && (await askForAddress(ctx, profile, { sessionId: account.sessionId, email: normalizeEmail(body.email) }));
  const changes: AuditNote['changes'] = {
    ...(fullName === profile.fullName ? {} : { full_name: { changed: true } }),
    ...(locale === profile.locale ? {} : { locale: { from: profile.locale, to: locale } }),
    ...(hasAsked ? { pending_email: { changed: true } } : {}),
  };

  if (Object.keys(changes).length > 0) await writeProfile(ctx, profile, { fullName, locale });
  ctx.audit(accountNote(account, changes));
}

/** Whether a mail is on its way, or an older request was given up: the own confirmed address asks for nothing. */
async function askForAddress(
  ctx: Ctx,
  profile: Profile,
  { sessionId, email }: { readonly sessionId: string; readonly email: string },
): Promise<boolean> {
  if (email === profile.email && profile.isEmailVerified) {
    if (profile.pendingEmail === null) return false;
    await cancelAddress(ctx, profile.userId);
    return true;
  }
  if (email !== profile.email) refuseDomain(email, profile);
  await requestAddress(ctx, ctx.deps.keys, { profile, sessionId, email });
  return true;
}

/** A token that is open. The caller is the user who asked for the address. */
export interface Confirmation {
  readonly caller: Caller;
  readonly token: ShownToken;
}

export async function attemptConfirmation({ deps, body }: IdentifyRequest<Static<typeof EmailConfirmBody>>): Promise<Confirmation> {
  // `mount` has validated the body against EmailConfirmBody before.
  const { token: shown } = body;
  const token = await readMailToken(deps.db, shown, 'email_confirm');

  return { caller: callerOfPerson(token.person, null), token };
}

/** BCP 47, in its canonical form; 422 for what is none. */
function canonicalLocale(locale: string): string {
  try {
    const [canonical] = Intl.getCanonicalLocales(locale);
    if (canonical !== undefined && canonical.length <= 35) return canonical;
  } catch {
    // Not a language tag: refused below.
  }
  throw invalid('/locale', 'format', 'must be a BCP 47 language tag');
}
