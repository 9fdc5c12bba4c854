import { expect, test } from '@jest/globals';
import { ModelAborted, ModelError } from '../../../activities/model/errors/model-error.ts';
import { callWithPermit, permitDelayMs, takePermit } from '../../../activities/model/usage/permits.ts';
import { holdCost } from '../../../activities/model/usage/spend.ts';
import { measureCall } from '../../../activities/model/usage/measure-call.ts';
import { noUsage } from '../../../activities/model/usage/usage.ts';
import type { ModelFinish } from '../../../activities/model/step.ts';
import type { ModelPermits, Permit } from '../../../ports/models/permits/permits.ts';
import { requestOf, startStepBench } from './model-step.ts';

/** A permit that writes down what became of it. */
function witness(): { readonly permit: Permit; readonly seen: unknown[] } {
  const seen: unknown[] = [];
  return {
    seen,
    permit: {
      end: (tokens) => void seen.push(['end', tokens]),
      giveBack: () => void seen.push(['giveBack']),
      pause: (ms) => void seen.push(['pause', ms]),
    },
  };
}

const usage = { ...noUsage, input: 10, cachedRead: 5, output: 3, reasoning: 2 };
const finish = {
  type: 'finish',
  stopReason: 'stop',
  usage,
  providerRequestId: null,
  providerModel: null,
  providerState: null,
} as const satisfies ModelFinish;

test('a call settles its permit by all tokens that were used', async () => {
  const { permit, seen } = witness();
  await callWithPermit(permit, () => Promise.resolve({ finish }));
  expect(seen[0]).toEqual(['end', 20]);
});

test.each([
  [
    '429 with a time',
    new ModelError('RateLimited', { message: 'm', retryAfterMs: 7_000 }),
    [
      ['pause', 7_000],
      ['end', null],
    ],
  ],
  [
    '429 without one',
    new ModelError('RateLimited', { message: 'm' }),
    [
      ['pause', null],
      ['end', null],
    ],
  ],
  [
    '503 with a time',
    new ModelError('Unavailable', { message: 'm', status: 503, retryAfterMs: 1_000 }),
    [
      ['pause', 1_000],
      ['end', null],
    ],
  ],
  ['503 without one', new ModelError('Unavailable', { message: 'm', status: 503 }), [['end', null]]],
  ['429 that is final', new ModelError('RateLimited', { message: 'm', retryable: false }), [['end', null]]],
  ['a cut answer', new ModelError('StreamCut', { message: 'm', usage }), [['end', 20]]],
  ['a cancel', new ModelAborted(usage, 'cancelled'), [['end', 20]]],
  ['a fault of ours', new Error('ours'), [['end', null]]],
] as const)('%s ends the permit at once', async (_name, error, expected) => {
  const { permit, seen } = witness();
  await expect(callWithPermit(permit, () => Promise.reject(error))).rejects.toBe(error);
  expect(seen.slice(0, expected.length)).toEqual(expected);
});

/** Fails when anything of it is used. */
function untouchable<T extends object>(): T {
  return new Proxy({} as T, {
    get: (_target, name) => {
      throw new Error(`${String(name)} was used`);
    },
  });
}

test('a call of a model without limits asks nobody and waits for nothing', async () => {
  const bench = await startStepBench();
  const request = requestOf(bench.model('openai_compatible'));
  await bench.close();
  expect(request.model.limits).toBeNull();
  const modelTry = { model: request.model, terms: { isCounted: false }, startedAt: new Date(0) };
  const facts = { modelTry, request, abort: untouchable(), maxPermitWaitMs: 1 } as unknown as Parameters<typeof holdCost>[1];

  await expect(holdCost(untouchable(), facts)).resolves.toMatchObject({ kind: 'held', permit: null });
  // The call is made before anything else gets a turn.
  let isMade = false;
  const metrics = { modelCalled: () => undefined };
  const call = () => {
    isMade = true;
    return Promise.resolve({ finish });
  };
  const made = measureCall({ metrics, env: { tracesContent: false } } as never, { request, permit: null, call, said: () => [] });
  expect(isMade).toBe(true);
  await made;
});

test('while many calls wait, each waits shorter in its activity and comes back later', async () => {
  const bench = await startStepBench();
  const request = requestOf(bench.model('openai_compatible'), { maxOutputTokens: 100 });
  await bench.close();
  const asked: { maxWaitMs: number; tokens: number }[] = [];
  const permitsWith = (waiting: number): ModelPermits => ({
    take: (_model, wish) => (asked.push(wish), Promise.resolve(null)),
    waiting: () => waiting,
    close: () => undefined,
  });
  const wish = { request, workspaceId: 'w', signal: new AbortController().signal, maxWaitMs: 30_000 };
  for (const waiting of [0, 20]) await takePermit({ permits: permitsWith(waiting) }, wish);

  expect(asked.map(({ maxWaitMs }) => maxWaitMs)).toEqual([30_000, 5_000]);
  expect(asked[0]?.tokens).toBeGreaterThan(100);
  expect(permitDelayMs({ permits: permitsWith(0) }, 'acme')).toBe(2_000);
  expect(permitDelayMs({ permits: permitsWith(10_000) }, 'acme')).toBe(60_000);
});
