import type { AuditSubject } from '../../../db/audit/audit.ts';
import { normalizeEmail } from '../../../db/identity/people/people.ts';
import { checkIfMatch, type Changing } from '../../../db/scope.ts';
import { fail, invalid } from '../../../workflows/contracts/failure.ts';
import { refuseDomain } from './email-domains.ts';
import { takeMailToken } from '../factors/mail-tokens.ts';
import { addMail } from '../../../db/mail.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { KeyRing } from '../../../db/key-ring.ts';
import { openConfirmation } from '../../../db/identity/factors/mail-tokens.ts';
import { cancelAddress, confirmPending, findProfile, writeAddress, writeNames, type Profile } from '../../../db/identity/people/profile.ts';

/** The requested changes of the caller's own profile; an omitted field stays as it is. */
interface AskedProfile {
  readonly full_name?: string | null;
  readonly locale?: string | null;
  readonly email?: string;
}

/**
 * Changes the caller's own name and locale, and requests another address; returns what has changed, for the audit entry. Writes nothing when nothing differs.
 * Throws 401 when the user no longer exists, 412 by If-Match, 422 for an address outside of the organization's domains.
 */
export async function changeProfile(
  ctx: Changing,
  keys: Pick<KeyRing, 'mailKeys'>,
  { account, asked }: { readonly account: { readonly userId: string; readonly sessionId: string }; readonly asked: AskedProfile },
): Promise<NonNullable<AuditSubject['changes']>> {
  const profile = await lockProfile(ctx, account.userId);
  checkIfMatch(ctx, profile.version);

  const fullName = asked.full_name === undefined ? profile.fullName : asked.full_name;
  const locale = typeof asked.locale === 'string' ? canonicalLocale(asked.locale) : asked.locale === null ? null : profile.locale;
  const hasAsked =
    asked.email !== undefined &&
    (await askForAddress(ctx, keys, { profile, sessionId: account.sessionId, email: normalizeEmail(asked.email) }));
  const changes: AuditSubject['changes'] = {
    ...(fullName === profile.fullName ? {} : { full_name: { changed: true } }),
    ...(locale === profile.locale ? {} : { locale: { from: profile.locale, to: locale } }),
    ...(hasAsked ? { pending_email: { changed: true } } : {}),
  };

  if (Object.keys(changes).length > 0) await writeProfile(ctx, profile, { fullName, locale });
  return changes;
}

/** Returns whether a mail was queued or an older request cancelled: requesting the own confirmed address sends nothing. */
async function askForAddress(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'mailKeys'>,
  { profile, sessionId, email }: { readonly profile: Profile; readonly sessionId: string; readonly email: string },
): Promise<boolean> {
  if (email === profile.email && profile.isEmailVerified) {
    if (profile.pendingEmail === null) return false;
    await cancelAddress(tx, profile.userId);
    return true;
  }
  if (email !== profile.email) refuseDomain(email, profile);
  await requestAddress(tx, keys, { profile, sessionId, email });
  return true;
}

/** BCP 47, in its canonical form; throws 422 for anything else. */
export function canonicalLocale(locale: string): string {
  try {
    const [canonical] = Intl.getCanonicalLocales(locale);
    if (canonical !== undefined && canonical.length <= 35) return canonical;
  } catch {
    // Not a language tag: refused below.
  }
  throw invalid('/locale', 'format', 'must be a BCP 47 language tag');
}

/** Locks the caller's own row. */
async function lockProfile(tx: TenantTransaction, userId: string): Promise<Profile> {
  const found = await findProfile(tx, userId);

  if (!found) throw fail('session_revoked');
  return found;
}

/**
 * Writes name and locale of a locked row; its version increases also when only the requested address has changed. Throws 412 when another request was faster.
 */
async function writeProfile(
  tx: TenantTransaction,
  profile: Profile,
  { fullName, locale }: { readonly fullName: string | null; readonly locale: string | null },
): Promise<void> {
  if (!(await writeNames(tx, profile, { fullName, locale }))) throw fail('precondition_failed');
}

/**
 * Requests a confirmation of a new address: mails a token to the new address, and a notice to the old one. Does not check whether the address belongs to
 * another user, so that nothing is revealed about it. Older requests become invalid; this one does when the session that made it ends.
 */
async function requestAddress(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'mailKeys'>,
  { profile, sessionId, email }: { readonly profile: Profile; readonly sessionId: string; readonly email: string },
): Promise<void> {
  const { userId, organizationId, workspaceId } = profile;
  const rowScope = { organizationId, workspaceId };
  const { outboxId, tokenHash } = await addMail(tx, keys, { mail: { template: 'email_confirm', userId, to: email }, rowScope });

  await openConfirmation(tx, { outboxId, tokenHash, userId, organizationId, sessionId, email });
  if (email !== profile.email) {
    await addMail(tx, keys, { mail: { template: 'email_change_notice', userId, to: profile.email }, rowScope });
  }
}

/**
 * Uses up the token of a mail, sets its address as the user's own, and invalidates password resets that were mailed to the old one. Throws 409 `already_exists`
 * when it belongs to another user by now; 410 for a token that is not open, and when the address is no longer the requested one.
 */
export async function confirmAddress(
  tx: TenantTransaction,
  { userId, tokenHash: hash }: { readonly userId: string; readonly tokenHash: Buffer },
): Promise<void> {
  const { email } = await takeMailToken(tx, { hash, purpose: 'email_confirm', userId });
  if (!(await confirmPending(tx, userId, email))) throw fail('gone', { detail: 'This change of address is no longer pending.' });
  await writeAddress(tx, userId, email);
}
