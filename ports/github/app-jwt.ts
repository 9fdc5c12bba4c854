import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { pemOf, type AppCredentials } from './app-key.ts';

const backSeconds = 60;
const aheadSeconds = 9 * 60;

/**
 * The offset between the host's clock and ours. Ours is trusted until the host refuses a token because of its times; from then on the `Date` of that answer
 * counts.
 */
export interface HostClock {
  /** Milliseconds since 1970, by the host's clock as far as it is known. */
  now(): number;
  /** Adopts the time of an answer; returns whether that changes the clock by more than a second. */
  correct(date: string | null): boolean;
}

/** `now` is replaced in tests. */
export function createHostClock(now: () => number = Date.now): HostClock {
  let offsetMs = 0;
  return {
    now: () => now() + offsetMs,
    correct(date) {
      const told = date === null ? Number.NaN : Date.parse(date);
      if (Number.isNaN(told)) return false;
      const offset = told - now();
      const isChange = Math.abs(offset - offsetMs) > 1_000;
      if (isChange) offsetMs = offset;
      return isChange;
    },
  };
}

/**
 * Signs the token with which an App authenticates: RS256, issued a minute ago and valid for nine more (the host allows ten in all;
 * https://docs.github.com/apps, "Generating a JSON Web Token"). Rejects when the key is not an RSA key.
 */
export async function signAppJwt({ appId, privateKey }: AppCredentials, clock: HostClock): Promise<string> {
  const seconds = Math.floor(clock.now() / 1_000);
  return new SignJWT({})
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .setIssuer(appId)
    .setIssuedAt(seconds - backSeconds)
    .setExpirationTime(seconds + aheadSeconds)
    .sign(createPrivateKey(pemOf(privateKey)));
}
