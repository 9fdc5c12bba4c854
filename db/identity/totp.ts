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

/** Whether a code fits now, or one step before or after. Spaces that people type are not looked at. */
export function fitsTotp(secret: string, code: string, now: Date): boolean {
  const token = code.replaceAll(/\s/g, '');
  if (!/^\d{6}$/.test(token)) return false;

  const verdict = verifySync({
    secret,
    token,
    algorithm: 'sha1',
    digits: 6,
    period: periodS,
    epoch: Math.floor(now.getTime() / 1_000),
    epochTolerance: periodS,
  });
  return verdict.valid;
}
