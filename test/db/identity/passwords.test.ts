import { afterAll, expect, test } from '@jest/globals';
import { hash } from '@node-rs/argon2';
import { parseKeyRing, keyRingVariables, randomKeyRing } from '../../../db/key-ring.ts';
import { truncateAddress } from '../../../db/identity/people/addresses.ts';
import { createPasswords, hashPassword, isOutdatedHash } from '../../../db/identity/factors/passwords.ts';
import { createPasswordHasher } from '../../../ports/passwords/hasher.ts';

const hasher = createPasswordHasher();
const passwords = createPasswords(hasher);

afterAll(() => hasher.close());

test('passwords are compared after NFC, and an absent hash fits nothing', async () => {
  const stored = await hashPassword("caf\u00e9 au lait, s'il vous plait");

  expect(await passwords.verify(stored, "cafe\u0301 au lait, s'il vous plait")).toBe(true);
  expect(await passwords.verify(stored, 'cafe au lait')).toBe(false);
  expect(await passwords.verify(null, '')).toBe(false);
});

test('a hash made with other parameters counts as outdated', async () => {
  expect(isOutdatedHash(await hashPassword('x'))).toBe(false);
  expect(isOutdatedHash(await hash('x', { memoryCost: 8_192, timeCost: 1, parallelism: 1 }))).toBe(true);
});

test('a new password is hashed with the parameters of today, and fits its hash', async () => {
  const stored = await passwords.hash('violet anchor meadow 42');

  expect(isOutdatedHash(stored)).toBe(false);
  expect(await passwords.verify(stored, 'violet anchor meadow 42')).toBe(true);
});

test('of an address only its network is kept', () => {
  expect(truncateAddress('203.0.113.77')).toBe('203.0.113.0/24');
  expect(truncateAddress('::ffff:203.0.113.77')).toBe('203.0.113.0/24');
  expect(truncateAddress('2001:db8:abcd:12::1')).toBe('2001:db8:abcd::/48');
  expect(truncateAddress('nonsense')).toBe('unknown');
});

test('a key ring survives its environment, and every bad variable is named at once', () => {
  const ring = randomKeyRing();

  expect(parseKeyRing(keyRingVariables(ring))).toEqual(ring);
  expect(() => parseKeyRing({ ...keyRingVariables(ring), LONGHAUL_KEKS: 'short', LONGHAUL_PEPPERS: undefined })).toThrow(
    /LONGHAUL_KEKS.*LONGHAUL_PEPPERS/,
  );
});
