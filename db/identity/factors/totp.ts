import { generateSecret, generateURI, verifySync } from 'otplib';

/** RFC 6238 as every authenticator app has it: SHA-1, 6 digits, 30 s. */
const periodS = 30;
const issuer = 'Longhaul';

/** A new secret of 160 bits, in base32. */
export function newTotpSecret(): string {
  return generateSecret({ length: 20 });
}

/** What an authenticator app reads from a QR code. */
export function otpauthUri(secret: string, email: string): string {
  return generateURI({ issuer, label: email, secret, algorithm: 'sha1', digits: 6, period: periodS });
}

/**
 * The time step to which a code belongs that fits now, or one step before or after; null for a code that fits none. Spaces that people
 * type are not looked at. Whether the step is spent already is for `spendStep` to say.
 */
export function stepOfTotp(secret: string, code: string, now: Date): number | null {
  const token = code.replaceAll(/\s/g, '');
  if (!/^\d{6}$/.test(token)) return null;

  const verdict = verifySync({
    secret,
    token,
    algorithm: 'sha1',
    digits: 6,
    period: periodS,
    epoch: Math.floor(now.getTime() / 1_000),
    epochTolerance: periodS,
  });
  if (!verdict.valid) return null;
  return Math.floor(now.getTime() / 1_000 / periodS) + verdict.delta;
}
