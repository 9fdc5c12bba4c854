import { generateSync } from 'otplib';
import { mailToken, tokenHash } from '../../../db/identity/factors/opaque-tokens.ts';
import { newId } from '../../../db/ids.ts';
import type { Client } from './client.ts';

/** What an authenticator app and a sheet of paper hold after an enrolment. */
export interface Enrolled {
  readonly secret: string;
  readonly codes: readonly string[];
}

/** The code of an app, now or some steps later: each is accepted once, and none after a later one. */
export function codeOf(secret: string, steps = 0): string {
  return generateSync({ secret, epoch: Math.floor(Date.now() / 1_000) + steps * 30 });
}

/** A code that fits no step near now. */
export function wrongCode(secret: string): string {
  const now = Math.floor(Date.now() / 1_000);
  const near = new Set([-60, -30, 0, 30, 60].map((shift) => generateSync({ secret, epoch: now + shift })));
  const free = Array.from({ length: 6 }, (_, at) => String(100_000 + at)).find((code) => !near.has(code));
  return free ?? '999999';
}

/** Enrols and confirms a factor through the API, with the code of the step before this one: that of this one is still to be used. */
export async function enrol(client: Client, token: string): Promise<Enrolled> {
  const begun = await client.call('POST', '/auth/mfa/totp', { token });
  const confirm = () => client.call('POST', '/auth/mfa/totp/confirm', { token, body: { code: codeOf(begun.body.secret, -1) } });
  const first = await confirm();
  // The step may have turned on the way.
  const confirmed = first.status === 401 ? await confirm() : first;
  if (confirmed.status !== 200) throw new Error(`confirmTotp: ${confirmed.status} ${JSON.stringify(confirmed.body)}`);
  return { secret: begun.body.secret, codes: confirmed.body.codes };
}

export function verify(client: Client, body: Readonly<Record<string, unknown>>, token?: string) {
  return client.call('POST', '/auth/mfa/verify', { token, body });
}

/** Lets the session's verification age past the ten minutes in which it counts as fresh. */
export async function makeStale(client: Client, sessionId: string): Promise<void> {
  await client.rows("update sessions set verified_at = now() - interval '601 seconds' where id = ?", [sessionId]);
}

/** The token that the newest mail of a template to a user carries. */
export async function mailedToken(client: Client, template: string, userId: string): Promise<string> {
  const [mail] = await client.rows<{ id: string }>(
    "select id from outbox where kind = 'mail' and payload -> 'mail' ->> 'template' = ? and payload -> 'mail' ->> 'userId' = ? order by id desc limit 1",
    [template, userId],
  );
  if (!mail) throw new Error(`no mail ${template}`);
  return mailToken(client.api.keys.mailKeys[0], mail.id);
}

/** Templates of the mails to a user, oldest first. */
export async function mailsTo(client: Client, userId: string): Promise<string[]> {
  const mails = await client.rows<{ template: string }>(
    "select payload -> 'mail' ->> 'template' as template from outbox where kind = 'mail' and payload -> 'mail' ->> 'userId' = ? order by id",
    [userId],
  );
  return mails.map(({ template }) => template);
}

/** A reset token as the worker makes it for a forgotten password. */
export async function resetTokenOf(client: Client, userId: string): Promise<string> {
  const id = newId();
  const token = mailToken(client.api.keys.mailKeys[0], id);
  await client.rows(
    `insert into auth_challenges (id, purpose, user_id, organization_id, token_hash, attempts, payload, expires_at)
     select ?::uuid, 'password_reset', id, organization_id, ?, 0, '{}', now() + interval '30 minutes' from users where id = ?`,
    [id, tokenHash(token), userId],
  );
  return token;
}
