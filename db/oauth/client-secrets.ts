import { timingSafeEqual } from 'node:crypto';
import type { KeyList } from '../key-ring.ts';
import { isOpaqueToken, newOpaqueToken, tokenHash } from '../identity/factors/opaque-tokens.ts';
import { serviceKeyHash, serviceKeyHashes } from '../identity/keys/service-key-format.ts';

/** A plaintext for the client and what is stored of it. */
export interface NewSecret {
  readonly plaintext: string;
  readonly hash: Buffer;
}

/** Returns a new client secret; its MAC under the newest pepper is stored, like that of a service key. */
export function newClientSecret(peppers: KeyList): NewSecret {
  const plaintext = newOpaqueToken('client_secret');
  return { plaintext, hash: serviceKeyHash(plaintext, peppers) };
}

/** Whether a text is the secret behind a stored hash (hex). */
export function isClientSecret(text: string, storedHex: string | null, peppers: KeyList): boolean {
  if (storedHex === null || !isOpaqueToken('client_secret', text)) return false;
  return serviceKeyHashes(text, peppers).some((hash) => isSame(hash, storedHex));
}

/** Returns a new token with which a client that registered itself reads and deletes its registration. */
export function newRegistrationToken(): NewSecret {
  const plaintext = newOpaqueToken('registration');
  return { plaintext, hash: tokenHash(plaintext) };
}

export function isRegistrationToken(text: string, storedHex: string | null): boolean {
  return storedHex !== null && isOpaqueToken('registration', text) && isSame(tokenHash(text), storedHex);
}

function isSame(hash: Buffer, storedHex: string): boolean {
  const stored = Buffer.from(storedHex, 'hex');
  return stored.length === hash.length && timingSafeEqual(stored, hash);
}
