import { availableParallelism } from 'node:os';
import { hash, parseOptions, verify } from '@node-rs/argon2';
import { fail } from '../../workflows/contracts/failure.ts';

/** Argon2id as OWASP's password storage cheat sheet names it: 19 MiB, two passes, one lane. */
// The package declares its algorithms as an ambient const enum, so the number stands here: 2 is Argon2id.
const parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

// Of a random password nobody knows: verified when there is no stored hash, so that an unknown account costs what a known one does.
const dummyHash = '$argon2id$v=19$m=19456,t=2,p=1$XY7lFGUnjPR4gAbUbkxTfg$7rXalbTo23Hr3ixDBLyahyWJ12MPKA8rmWlxqtlZ9fc';

/** At most 4, and one core stays free for everybody else's requests. */
const runningMax = Math.max(1, Math.min(4, availableParallelism() - 1));
const waitingMax = 64;

/** Hashes and verifies passwords, a bounded number at a time: each run holds 19 MiB and a core. */
export interface Passwords {
  /** Whether the password fits the stored hash; null verifies a dummy and gives false. Throws 429 when the queue is full. */
  verify(storedHash: string | null, password: string): Promise<boolean>;
  hash(password: string): Promise<string>;
}

export function createPasswords({ atOnce = runningMax }: { atOnce?: number } = {}): Passwords {
  const queue = createQueue(atOnce);

  return {
    async verify(storedHash, password) {
      const fits = await queue.run(() => verify(storedHash ?? dummyHash, password.normalize('NFC')));

      return storedHash !== null && fits;
    },
    hash: (password) => queue.run(() => hashPassword(password)),
  };
}

/** Hashes outside the queue: for the bootstrap and tests. */
export function hashPassword(password: string): Promise<string> {
  return hash(password.normalize('NFC'), parameters);
}

/** Whether a stored hash was made with other parameters than today's. */
export function isOutdatedHash(storedHash: string): boolean {
  const used = parseOptions(storedHash);

  return (
    Number(used.algorithm) !== parameters.algorithm ||
    used.memoryCost !== parameters.memoryCost ||
    used.timeCost !== parameters.timeCost ||
    used.parallelism !== parameters.parallelism
  );
}

function createQueue(atOnce: number) {
  const waiting: (() => void)[] = [];
  let running = 0;

  return {
    async run<Result>(work: () => Promise<Result>): Promise<Result> {
      if (running >= atOnce) {
        if (waiting.length >= waitingMax) {
          throw fail('rate_limited', {
            retryAfterS: 1,
            context: { violated_policies: ['password_hashing'] },
            detail: 'too many sign-ins at once',
          });
        }
        // The one that ends hands its place over, so that `running` never passes its bound.
        await new Promise<void>((resolve) => waiting.push(resolve));
      } else {
        running += 1;
      }
      try {
        return await work();
      } finally {
        const next = waiting.shift();

        if (next) next();
        else running -= 1;
      }
    },
  };
}
