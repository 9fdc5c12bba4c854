import { findLogin } from '../../db/identity/lookup/credential-lookup.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import { mailToken, tokenHash } from '../../db/identity/factors/opaque-tokens.ts';
import { openReset } from '../../domain/identity/factors/mail-tokens.ts';
import { tokenState } from '../../db/identity/factors/token-state.ts';
import { normalizeEmail } from '../../db/identity/people/people.ts';
import type { MailMessage, StoredMail } from '../../db/mail.ts';
import type { Databases } from '../../db/databases.ts';
import { readInvitation, readReader } from '../../db/tenancy/people/mail-facts.ts';
import { organizationTenant, systemActor, transact } from '../../db/transaction.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { DeliveryResult } from '../../workflows/contracts/upkeep/delivery.ts';
import type { MailRequest } from '../../workflows/contracts/upkeep/mail.ts';
import type { Letter } from './letter.ts';
import { confirmationLetter, firstPasswordLetter, invitationLetter, noticeLetter, resetLetter, type Places } from './letters.ts';

export interface Composed {
  readonly to: string;
  readonly letter: Letter;
}

/** A mail to send, or why there is none. */
type Composition = Composed | Extract<DeliveryResult, 'expired' | 'void'>;

export interface ComposeDeps {
  readonly db: Databases;
  readonly keys: Pick<KeyRing, 'mailKeys'>;
  readonly places: Places;
}

type RequestOf<T extends MailRequest['template']> = Extract<MailRequest, { template: T }>;

/** Composes one mail from the rows as they are now. Throws when the key of its token is no longer configured. */
export async function composeMail(deps: ComposeDeps, outboxId: string, { message, isStale }: StoredMail): Promise<Composition> {
  const { mail } = message;

  switch (mail.template) {
    case 'password_reset':
      return isStale ? 'expired' : composeReset(deps, outboxId, message, mail);
    case 'password_set':
    case 'email_confirm':
      return composeTokenMail(deps, outboxId, message, mail);
    case 'invitation':
      return composeInvitation(deps, outboxId, message, mail);
    case 'email_change_notice':
      return composeNotice(deps, message, { ...mail, to: mail.to });
    case 'refresh_reuse':
    case 'password_changed':
    case 'factor_added':
    case 'factor_removed':
    case 'recovery_codes_replaced':
    case 'recovery_codes_used_up':
      return composeNotice(deps, message, { ...mail, to: null });
    default:
      return mail satisfies never;
  }
}

/** Looks up the account, which the request itself did not do. */
async function composeReset(
  deps: ComposeDeps,
  outboxId: string,
  message: MailMessage,
  { email }: RequestOf<'password_reset'>,
): Promise<Composition> {
  const found = await findLogin(deps.db, normalizeEmail(email));
  if (!found?.person.isActive) return 'void';

  const { id: userId, organizationId } = found.person;
  const token = tokenOf(deps, outboxId, message);
  return asUser(deps, { organizationId, userId, message }, async (tx) => {
    const state = await openReset(tx, { outboxId, userId, organizationId, tokenHash: tokenHash(token) });
    if (state.state !== 'open') return state.state;

    const reader = await readReader(tx, userId);
    return reader ? { to: reader.email, letter: resetLetter(deps.places, reader, { token, expiresAt: state.expiresAt }) } : 'void';
  });
}

async function composeTokenMail(
  deps: ComposeDeps,
  outboxId: string,
  message: MailMessage,
  mail: RequestOf<'password_set' | 'email_confirm'>,
): Promise<Composition> {
  const { userId } = mail;
  const token = tokenOf(deps, outboxId, message);
  return asUser(deps, { organizationId: message.organizationId, userId, message }, async (tx) => {
    const state = await tokenState(tx, { userId, tokenHash: tokenHash(token) });
    if (state.state !== 'open') return state.state;

    const reader = await readReader(tx, userId);
    if (!reader) return 'void';
    const mailed = { token, expiresAt: state.expiresAt };
    return mail.template === 'password_set'
      ? { to: reader.email, letter: firstPasswordLetter(deps.places, reader, mailed) }
      : { to: mail.to, letter: confirmationLetter(deps.places, reader, { ...mailed, to: mail.to }) };
  });
}

async function composeInvitation(
  deps: ComposeDeps,
  outboxId: string,
  message: MailMessage,
  { invitationId }: RequestOf<'invitation'>,
): Promise<Composition> {
  const { organizationId, correlationId } = message;
  if (organizationId === null) return 'void';

  const token = tokenOf(deps, outboxId, message);
  const options = { tenant: organizationTenant(organizationId), actor: systemActor, correlationId };
  const { value } = await transact(deps.db, options, (tx) => readInvitation(tx, { invitationId, tokenHash: tokenHash(token) }));

  if (value.token.state !== 'open') return value.token.state;
  if (!value.facts) return 'void';
  return { to: value.facts.email, letter: invitationLetter(deps.places, value.facts, { token, expiresAt: value.token.expiresAt }) };
}

async function composeNotice(
  deps: ComposeDeps,
  message: MailMessage,
  mail: RequestOf<Parameters<typeof noticeLetter>[1]> & { readonly to: string | null },
): Promise<Composition> {
  const { userId, template, to } = mail;
  return asUser(deps, { organizationId: message.organizationId, userId, message }, async (tx) => {
    const reader = await readReader(tx, userId);

    return reader ? { to: to ?? reader.email, letter: noticeLetter(deps.places, template, reader) } : 'void';
  });
}

async function asUser<R>(
  { db }: ComposeDeps,
  { organizationId, userId, message }: { organizationId: string | null; userId: string; message: MailMessage },
  work: (tx: TenantTransaction) => Promise<R>,
): Promise<R> {
  const tenant = { organizationId, userId, workspaceIds: [], hasAllWorkspaces: organizationId !== null, isOperator: false };
  const { value } = await transact(db, { tenant, actor: systemActor, correlationId: message.correlationId }, work);

  return value;
}

function tokenOf({ keys }: ComposeDeps, outboxId: string, { keyId }: MailMessage): string {
  const key = keys.mailKeys.find((candidate) => candidate.id === keyId);
  if (!key) throw new Error(`LONGHAUL_MAIL_KEYS lacks the key ${keyId}, under which the token of a mail is derived`);

  return mailToken(key, outboxId);
}
