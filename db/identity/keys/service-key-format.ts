import { createHmac, createSecretKey, randomInt, type KeyObject } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { KeyList, NamedKey } from '../../key-ring.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const keyPrefix = 'lh_sk_';
const bodyLength = 32;
const checkLength = 6;
const keyPattern = /^lh_sk_[0-9A-Za-z]{38}$/;

/** Number of a key's first characters that lists show. */
const shownPrefixLength = 12;

/** Returns a new plaintext: `lh_sk_`, 32 random base62 characters, 6 check characters. */
export function newServiceKeyPlaintext(): string {
  const body = Array.from({ length: bodyLength }, () => alphabet[randomInt(alphabet.length)]).join('');

  return keyPrefix + body + checkCharacters(body);
}

/** Returns six base62 characters: CRC-32 (IEEE) of `lh_sk_` and the 32 characters, left-padded with `0`. */
export function checkCharacters(body: string): string {
  let rest = crc32(keyPrefix + body);
  let encoded = '';

  while (rest > 0) {
    encoded = alphabet.charAt(rest % alphabet.length) + encoded;
    rest = Math.floor(rest / alphabet.length);
  }
  return encoded.padStart(checkLength, '0');
}

/** Whether a text can be a key at all: length, alphabet and check characters. Needs no query. */
export function isWellFormedServiceKey(text: string): boolean {
  if (!keyPattern.test(text)) return false;
  return checkCharacters(text.slice(keyPrefix.length, -checkLength)) === text.slice(-checkLength);
}

export function isServiceKeyLike(text: string): boolean {
  return text.startsWith(keyPrefix);
}

/** Returns what is stored of a plaintext: its MAC under the newest pepper, after the pepper's id. */
export function serviceKeyHash(plaintext: string, peppers: KeyList): Buffer {
  return macUnder(peppers[0], plaintext);
}

/** Returns the hashes under which a plaintext may be stored, one per pepper. */
export function serviceKeyHashes(plaintext: string, peppers: KeyList): Buffer[] {
  return peppers.map((pepper) => macUnder(pepper, plaintext));
}

/** The two ends of a key that lists and details may show. */
export function shownEnds(plaintext: string): { prefix: string; last4: string } {
  return { prefix: plaintext.slice(0, shownPrefixLength), last4: plaintext.slice(-4) };
}

function macUnder(pepper: NamedKey, text: string): Buffer {
  return Buffer.concat([Buffer.from(`${pepper.id}:`), createHmac('sha256', keyOf(pepper)).update(text).digest()]);
}

const keyObjects = new WeakMap<NamedKey, KeyObject>();

// Creating a key object from bytes for every MAC would cost several times the MAC.
function keyOf(pepper: NamedKey): KeyObject {
  const known = keyObjects.get(pepper) ?? createSecretKey(pepper.secret);
  keyObjects.set(pepper, known);
  return known;
}
