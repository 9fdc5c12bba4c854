import type { InvitationFacts, Reader } from '../../db/tenancy/people/mail-facts.ts';
import type { MailRequest } from '../../workflows/contracts/upkeep/mail.ts';
import type { Letter } from './letter.ts';

/** The addresses that readers are sent to. */
export interface Places {
  /** `PUBLIC_URL`. */
  readonly publicUrl: string;
  /** `MAIL_LINK_URL`, whose pages accept tokens; null: the mail names the operation. */
  readonly linkUrl: string | null;
}

/** A token and its expiry, as the database returns it. */
export interface MailedToken {
  readonly token: string;
  readonly expiresAt: string;
}

export type Notice = Exclude<MailRequest['template'], 'password_reset' | 'password_set' | 'email_confirm' | 'invitation'>;

interface Action {
  /** Page below `MAIL_LINK_URL`; the token follows in the fragment, which no server logs. */
  readonly page: string;
  readonly operation: string;
  readonly body: Readonly<Record<string, string>>;
}

export function resetLetter(places: Places, reader: Reader, token: MailedToken): Letter {
  return {
    subject: 'Choose a new password',
    parts: [
      greeting(reader.fullName),
      `Someone, probably you, has requested a new password for ${reader.email} at ${places.publicUrl}.`,
      ...actionParts(places, token, passwordAction('password-reset')),
      'If it was not you, ignore this mail; your password will not change.',
    ],
  };
}

export function firstPasswordLetter(places: Places, reader: Reader, token: MailedToken): Letter {
  const place = reader.organizationName === null ? '' : ` in ${reader.organizationName}`;
  return {
    subject: 'Choose your password',
    parts: [
      greeting(reader.fullName),
      `An account has been created for ${reader.email}${place} at ${places.publicUrl}. Choose a password to sign in.`,
      ...actionParts(places, token, passwordAction('password-set')),
    ],
  };
}

export function confirmationLetter(places: Places, reader: Reader, token: MailedToken & { readonly to: string }): Letter {
  return {
    subject: 'Confirm your address',
    parts: [
      greeting(reader.fullName),
      `${token.to} is the new address requested for your account at ${places.publicUrl}. It takes effect once you confirm it.`,
      ...actionParts(places, token, { page: 'email-confirm', operation: 'POST /auth/email/confirm', body: {} }),
      'If you did not request this, ignore this mail; nothing will change.',
    ],
  };
}

export function invitationLetter(places: Places, facts: InvitationFacts, token: MailedToken): Letter {
  const { organizationName, workspaceName, inviterName, role, email } = facts;
  const place = workspaceName === null ? organizationName : `${workspaceName} of ${organizationName}`;
  return {
    subject: `Invitation to ${organizationName}`,
    parts: [
      greeting(null),
      `${inviterName ?? 'An administrator'} invites you to ${place} at ${places.publicUrl}, as ${role}. The invitation is for ${email}.`,
      ...actionParts(places, token, {
        page: 'invitation',
        operation: 'POST /invitations/accept',
        body: { email, password: 'the password that you choose' },
      }),
      "If you don't want to join, ignore this mail.",
    ],
  };
}

const notices: Readonly<Record<Notice, { readonly subject: string; readonly words: string; readonly advice: string }>> = {
  email_change_notice: {
    subject: 'A change of your address was requested',
    words:
      'Someone who is signed in as you has requested a new address for your account. It takes effect once the new address is confirmed.',
    advice: 'If it was not you, change your password and end your other sessions now.',
  },
  refresh_reuse: {
    subject: 'One of your sessions was ended',
    words: 'A token of one of your sessions was used a second time, which can mean that it was copied. The session has been ended.',
    advice: 'Sign in again. If you don’t know why this happened, change your password and review your sessions.',
  },
  password_changed: {
    subject: 'Your password was changed',
    words: 'The password of your account was changed.',
    advice: 'If it was not you, request a new password now and tell your administrator.',
  },
  factor_added: {
    subject: 'A second factor was added',
    words: 'Your account now asks for the codes of an authenticator app when you sign in.',
    advice: 'If it was not you, tell your administrator now.',
  },
  factor_removed: {
    subject: 'Your second factor was removed',
    words: 'Your account no longer asks for a second factor when you sign in. Its recovery codes have been removed too.',
    advice: 'If it was not you, change your password now and tell your administrator.',
  },
  recovery_codes_replaced: {
    subject: 'New recovery codes were created',
    words: 'Someone who is signed in as you has created new recovery codes for your account. The old ones no longer work.',
    advice: 'If it was not you, change your password now and tell your administrator.',
  },
  recovery_codes_used_up: {
    subject: 'Your last recovery code was used',
    words: 'You have signed in with the last of your recovery codes.',
    advice: 'Create new ones, or you will be locked out if you lose your authenticator app.',
  },
};

/** Informs a user about a change to the account. */
export function noticeLetter({ publicUrl }: Places, template: Notice, reader: Reader): Letter {
  const { subject, words, advice } = notices[template];
  return { subject, parts: [greeting(reader.fullName), `${words} (${publicUrl})`, advice] };
}

function greeting(name: string | null): string {
  return name === null || name.trim() === '' ? 'Hello,' : `Hello ${name},`;
}

function passwordAction(page: string): Action {
  return { page, operation: 'POST /auth/password/reset', body: { new_password: 'the password that you choose' } };
}

/** Links to the product page that takes the token, where the deployment has one; otherwise shows the operation of the API, ready to paste. */
function actionParts({ publicUrl, linkUrl }: Places, { token, expiresAt }: MailedToken, action: Action): Letter['parts'] {
  const end = `It can be used once, until ${readableTime(expiresAt)}.`;

  if (linkUrl !== null) return ['Follow this link:', { link: `${linkUrl}/${action.page}#token=${token}` }, end];
  const [method = '', path = ''] = action.operation.split(' ');
  const body = JSON.stringify({ token, ...action.body }, null, 2);
  return [
    `Send the token below with ${action.operation}:`,
    { code: `${method} ${publicUrl}${path}\nContent-Type: application/json\n\n${body}` },
    'The token alone:',
    { code: token },
    end,
  ];
}

function readableTime(time: string): string {
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
