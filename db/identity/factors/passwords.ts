import { hash, parseOptions } from '@node-rs/argon2';

/** Argon2id as recommended by OWASP's password storage cheat sheet: 19 MiB, two passes, one lane. */
// The package declares its algorithms as an ambient const enum, so the number stands here: 2 is Argon2id.
const parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

// Hash of a random password that nobody knows: verified when there is no stored hash, so that an unknown account costs as much as a known one.
const dummyHash = '$argon2id$v=19$m=19456,t=2,p=1$XY7lFGUnjPR4gAbUbkxTfg$7rXalbTo23Hr3ixDBLyahyWJ12MPKA8rmWlxqtlZ9fc';

/** Runs Argon2; throws 429 when too many calls wait. */
export interface PasswordHashing {
  verify(storedHash: string, password: string): Promise<boolean>;
  hash(password: string, used: typeof parameters): Promise<string>;
}

/** Hashes and verifies passwords. Passes on what the hashing throws. */
export interface Passwords {
  /** Whether the password matches the stored hash; null verifies a dummy and returns false. */
  verify(storedHash: string | null, password: string): Promise<boolean>;
  hash(password: string): Promise<string>;
}

export function createPasswords(hashing: PasswordHashing): Passwords {
  return {
    async verify(storedHash, password) {
      const fits = await hashing.verify(storedHash ?? dummyHash, password.normalize('NFC'));

      return storedHash !== null && fits;
    },
    hash: (password) => hashing.hash(password.normalize('NFC'), parameters),
  };
}

/** Hashes at once and in this process: for the bootstrap and tests. */
export function hashPassword(password: string): Promise<string> {
  return hash(password.normalize('NFC'), parameters);
}

/** Whether a stored hash was made with parameters other than today's. */
export function isOutdatedHash(storedHash: string): boolean {
  const used = parseOptions(storedHash);

  return (
    Number(used.algorithm) !== parameters.algorithm ||
    used.memoryCost !== parameters.memoryCost ||
    used.timeCost !== parameters.timeCost ||
    used.parallelism !== parameters.parallelism
  );
}
