import { expect, test } from '@jest/globals';
import { randomKeyRing } from '../../../db/key-ring.ts';
import {
  checkCharacters,
  isWellFormedServiceKey,
  newServiceKeyPlaintext,
  serviceKeyHash,
  serviceKeyHashes,
} from '../../../db/identity/keys/service-key-format.ts';

test("the check characters of the contract's vector", () => {
  expect(checkCharacters('0'.repeat(32))).toBe('1tMXUl');
});

test('every new plaintext is well-formed, and none with one changed character is', () => {
  for (let round = 0; round < 200; round++) {
    const plaintext = newServiceKeyPlaintext();
    const at = 6 + (round % 38);
    const changed = plaintext.slice(0, at) + (plaintext[at] === 'x' ? 'y' : 'x') + plaintext.slice(at + 1);

    expect(isWellFormedServiceKey(plaintext)).toBe(true);
    expect(isWellFormedServiceKey(changed)).toBe(false);
  }
});

test('a key made under an older pepper is found after a new one has come', () => {
  const before = randomKeyRing().peppers;
  const after = [...randomKeyRing().peppers, ...before] as const;
  const plaintext = newServiceKeyPlaintext();

  expect(serviceKeyHashes(plaintext, after)).toContainEqual(serviceKeyHash(plaintext, before));
});
