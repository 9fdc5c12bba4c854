import { generateSecret, generateURI, verifySync } from 'otplib';

/** RFC 6238 as every authenticator app implements it: SHA-1, 6 digits, 30 s. */
const periodS = 30;
const issuer = 'Longhaul';

/** Returns a new secret of 160 bits, in base32. */
export function newTotpSecret(): string {
  return generateSecret({ length: 20 });
}

/** Returns the URI that an authenticator app reads from a QR code. */
export function otpauthUri(secret: string, email: string): string {
  return generateURI({ issuer, label: email, secret, algorithm: 'sha1', digits: 6, period: periodS });
}

/**
 * Returns the time step of a code that matches now, or one step before or after; null for any other code. Ignores spaces. `spendStep` decides whether the step
 * is already spent.
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
