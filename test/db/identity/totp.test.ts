import { expect, test } from '@jest/globals';
import { newTotpSecret, otpauthUri, stepOfTotp } from '../../../db/identity/factors/totp.ts';

// RFC 6238 appendix B, SHA-1: the ASCII secret 12345678901234567890 in base32, codes cut to six digits.
const rfcSecret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const at = (seconds: number) => new Date(seconds * 1_000);

test.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
])('the code of RFC 6238 at %i s fits', (seconds, code) => {
  expect(stepOfTotp(rfcSecret, code, at(seconds))).toBe(Math.floor(seconds / 30));
});

test('a code fits one step before and after its own, and no further; its step is its own whenever it is shown', () => {
  const stepStart = 1_234_567_890;
  const shifts = [-31, -30, -1, 0, 29, 30, 59, 60];

  expect(shifts.map((shift) => [shift, stepOfTotp(rfcSecret, '005924', at(stepStart + shift))])).toEqual([
    [-31, null],
    [-30, stepStart / 30],
    [-1, stepStart / 30],
    [0, stepStart / 30],
    [29, stepStart / 30],
    [30, stepStart / 30],
    [59, stepStart / 30],
    [60, null],
  ]);
});

test('what is no code of six digits fits nothing and throws nothing', () => {
  for (const code of ['', '00592', '0059240', '00592a', '-05924', '００5924', '005924 '.repeat(30)]) {
    expect(stepOfTotp(rfcSecret, code, at(1_234_567_890))).toBeNull();
  }
  expect(stepOfTotp(rfcSecret, '005 924', at(1_234_567_890))).toBe(41_152_263);
});

test('secrets are 160 random bits, and the address stands escaped in the URI', () => {
  const secret = newTotpSecret();

  expect(secret).toMatch(/^[A-Z2-7]{32}$/);
  expect(newTotpSecret()).not.toBe(secret);
  expect(otpauthUri(secret, 'a&b?c@example.test')).toBe(
    `otpauth://totp/Longhaul:a%26b%3Fc%40example.test?secret=${secret}&issuer=Longhaul`,
  );
});
