import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { KeyRing, NamedKey } from '../../key-ring.ts';

const prefixes = {
  refresh: 'lh_rt_',
  stream: 'lh_st_',
  impersonation: 'lh_im_',
  mail: 'lh_ml_',
  code: 'lh_ac_',
  transaction: 'lh_tx_',
  client_secret: 'lh_cs_',
  registration: 'lh_rg_',
} as const;
export type OpaqueTokenKind = keyof typeof prefixes;

/** Returns a new random token of 256 bits: its kind's prefix and 43 base64url characters. */
export function newOpaqueToken(kind: OpaqueTokenKind): string {
  return prefixes[kind] + randomBytes(32).toString('base64url');
}

/** Returns the token of a mail: derived from the id of its outbox row under a server key, so that a retry mails the same link. */
export function mailToken({ secret }: NamedKey, outboxId: string): string {
  return prefixes.mail + createHmac('sha256', secret).update(`mail:${outboxId}`).digest('base64url');
}

/** Whether a text has the form of such a token; one that fails this check causes no query. */
export function isOpaqueToken(kind: OpaqueTokenKind, text: string): boolean {
  const prefix = prefixes[kind];

  return text.startsWith(prefix) && /^[A-Za-z0-9_-]{43}$/.test(text.slice(prefix.length));
}

/** Returns what is stored of a random token: a plain digest is enough, since 256 bits can't be guessed. */
export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Returns the name of an account in counters and failed logins, which does not contain its address. */
export function accountHash(keys: KeyRing, email: string): Buffer {
  return createHmac('sha256', keys.peppers[0].secret).update(`account:${email}`).digest();
}
