import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, expect, test } from '@jest/globals';
import { hash } from '@node-rs/argon2';
import { ThreadProblem } from '../../ports/untrusted/bounded-thread.ts';
import { createPasswordHasher, type PasswordHasher } from '../../ports/passwords/hasher.ts';

const quick = { algorithm: 2, memoryCost: 64, timeCost: 1, parallelism: 1 } as const;
const dear = { ...quick, memoryCost: 19_456, timeCost: 40 } as const;
let hasher: PasswordHasher | null = null;

afterEach(() => hasher?.close());

/** The threads of this process that give way to others. */
function humbleThreads(): number {
  // proc_pid_stat(5): the name may hold blanks, niceness is the 19th field.
  const niceness = (id: string) => Number(readFileSync(`/proc/self/task/${id}/stat`, 'utf8').split(') ')[1]?.split(' ')[16]);
  return readdirSync('/proc/self/task').filter((id) => niceness(id) > 0).length;
}

test('a password fits its own hash and no other, in a thread that gives way to those of the requests', async () => {
  hasher = createPasswordHasher({ atOnce: 1 });

  const stored = await hasher.hash('violet anchor', quick);

  expect(await hasher.verify(stored, 'violet anchor')).toBe(true);
  expect(await hasher.verify(stored, 'violet anchors')).toBe(false);
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=64,t=1,p=1\$/);
  if (process.platform === 'linux') expect(humbleThreads()).toBeGreaterThan(0);
});

test('beyond 4 running and 64 waiting verifications a sign-in is 429', async () => {
  const { verify } = (hasher = createPasswordHasher({ atOnce: 4 }));
  const stored = await hash('x', quick);

  const outcomes = await Promise.allSettled(Array.from({ length: 70 }, () => verify(stored, 'x')));

  expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(68);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected')
      expect(outcome.reason).toMatchObject({ code: 'rate_limited', context: { violated_policies: ['password_hashing'] } });
  }
  expect(await verify(stored, 'x')).toBe(true);
});

test('a hash that is none fails its own request alone', async () => {
  hasher = createPasswordHasher({ atOnce: 1 });
  const stored = await hash('x', quick);

  await expect(hasher.verify('none', 'x')).rejects.toThrow(ThreadProblem);
  expect(await hasher.verify(stored, 'x')).toBe(true);
});

test('a thread that dies under a password takes that request along, and the next gets another', async () => {
  hasher = createPasswordHasher({ atOnce: 1 });
  const stored = await hash('x', quick);
  await hasher.verify(stored, 'x');
  const lost = expect(hasher.hash('x', dear)).rejects.toThrow('the thread ended');
  const next = hasher.verify(stored, 'x');

  // The job has gone to the thread by then.
  await new Promise(setImmediate);
  await hasher.close();

  await lost;
  expect(await next).toBe(true);
});
