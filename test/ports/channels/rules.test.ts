import { expect, test } from '@jest/globals';
import { isAllowed } from '../../../domain/channels/channel-rules.ts';
import { verdictOfPart } from '../../../domain/channels/parts.ts';
import type { SendOutcome } from '../../../ports/channels/service.ts';

const part = { failures: 0, isPlain: false, attempts: 1, externalId: null };
const judge = (outcome: SendOutcome, more: Partial<typeof part & { externalId: string | null }> = {}, after: 'again' | 'never' = 'again') =>
  verdictOfPart({ ...part, ...more }, outcome, after);

test('a failed try comes again after 1, 5, 60 and 300 seconds, then it is over', () => {
  const failed = { result: 'failed', error: 'x' } as const;
  const delays = [0, 1, 2, 3, 4].map((failures) => judge(failed, { failures }));

  expect(delays.map(({ delayMs }) => delayMs)).toEqual([1_000, 5_000, 60_000, 300_000, null]);
  expect(delays.at(-1)?.state).toBe('failed');
});

test('a rate limit waits as it says and is no failure, two hundred times at most', () => {
  const limited = { result: 'limited', retryAfterS: 7.5, error: 'HTTP 429' } as const;

  expect(judge(limited)).toMatchObject({ state: 'pending', failures: 0, delayMs: 7_500 });
  expect(judge(limited, { attempts: 200 }).state).toBe('failed');
});

test('refused markup goes once as plain text', () => {
  const markup = { result: 'markup', error: 'x' } as const;

  expect(judge(markup)).toMatchObject({ state: 'pending', isPlain: true, delayMs: 0 });
  expect(judge(markup, { isPlain: true }).state).toBe('failed');
});

test('a try of which nobody knows ends where the service can’t be asked, and stays open elsewhere; one that replaces a draft is repeated', () => {
  const uncertain = { result: 'uncertain', error: 'x' } as const;

  expect(judge(uncertain, {}, 'never')).toMatchObject({ state: 'unknown', delayMs: null });
  expect(judge(uncertain)).toMatchObject({ state: 'sending', delayMs: 1_000 });
  expect(judge(uncertain, { externalId: '5' as never }, 'never')).toMatchObject({ state: 'pending', delayMs: 1_000 });
});

test.each([
  [['u1'], 'u1', true],
  [['u1'], 'u2', false],
  [['*@example.com'], 'Ada@Example.com', true],
  [['*@example.com'], 'ada@evil.test', false],
  [['*@example.com'], 'x@evil.test@example.com', false],
  [['ada@*'], 'ada@any.test', true],
  [['a*b*c'], 'axxbyyc', true],
  [['a*b*c'], 'axxbyy', false],
  [['*'], 'u7', true],
  [[], 'u1', false],
] as const)('%j lets %s in: %s', (list, sender, isIn) => {
  expect(isAllowed(list, sender)).toBe(isIn);
});

test('a pattern of many stars costs little', () => {
  const startedAt = performance.now();

  expect(isAllowed([`${'*a'.repeat(150)}b`], 'a'.repeat(300))).toBe(false);
  // Generous: one that goes back for every star would not end at all.
  expect(performance.now() - startedAt).toBeLessThan(30_000);
});
