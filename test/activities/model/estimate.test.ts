import { expect, test } from '@jest/globals';
import { estimateCost } from '../../../activities/model/prompt/estimate.ts';
import { FileBytes } from '../../../activities/model/prompt/prompt.ts';
import type { ModelStepRequest } from '../../../activities/model/step.ts';
import type { PinnedPrice, PriceBucket } from '../../../db/billing/prices/prices.ts';

const price = (bucket: PriceBucket, amount: string): PinnedPrice => ({ id: bucket, bucket, price: amount });

/** As far as an estimate reads it. */
function requestOf(part: {
  text?: string;
  maxOutputTokens?: number | null;
  most?: number | null;
  window?: number;
  file?: Buffer;
}): ModelStepRequest {
  const { text = '', maxOutputTokens = null, most = null, window = 1_000_000, file } = part;
  const data = file && [{ type: 'file', name: 'a', mediaType: 'image/png', data: new FileBytes(file) }];
  return {
    instructions: text,
    tools: [],
    messages: data ? [{ role: 'user', content: data }] : [],
    maxOutputTokens,
    model: { contextWindow: window, maxOutputTokens: most },
  } as unknown as ModelStepRequest;
}

test('all that is sent counts at the dearest input price, three bytes a token, and the longest answer at the dearest output price', () => {
  const bytes = Buffer.byteLength(JSON.stringify({ instructions: 'é'.repeat(300), tools: [], messages: [] }));
  const prices = [price('input', '3'), price('cached_write', '6'), price('output', '10'), price('reasoning', '12'), price('call', '0.01')];

  const estimate = estimateCost(requestOf({ text: 'é'.repeat(300), maxOutputTokens: 1_000 }), prices);

  expect(Number(estimate)).toBeCloseTo((Math.ceil(bytes / 3) * 6 + 1_000 * 12) / 1_000_000 + 0.01, 9);
});

test('without a cap the answer may take what the model can give, else its whole window', () => {
  const prices = [price('output', '1')];

  expect(estimateCost(requestOf({ most: 8_000 }), prices)).toBe('0.008000000');
  expect(estimateCost(requestOf({ window: 32_000 }), prices)).toBe('0.032000000');
});

test('bytes of files count, and no more than the model can read', () => {
  const prices = [price('input', '1')];

  const small = Number(estimateCost(requestOf({ file: Buffer.alloc(30_000) }), prices));
  const huge = estimateCost(requestOf({ file: Buffer.alloc(3_000_000), window: 200_000 }), prices);

  expect(small).toBeGreaterThan(0.01);
  expect(small).toBeLessThan(0.011);
  expect(huge).toBe('0.200000000');
});

test('the schema of the answer counts where the request itself carries it', () => {
  const prices = [price('input', '1')];
  const schema = { type: 'object', description: 'x'.repeat(30_000) };
  const asked = (mode: 'native' | 'tool') => ({ ...requestOf({}), json: { mode, schema, name: 'result', strict: true } });

  expect(Number(estimateCost(asked('native'), prices))).toBeGreaterThan(0.01);
  expect(Number(estimateCost(asked('tool'), prices))).toBeLessThan(0.001);
});

test('nothing is estimated without a price, and a tiny one is rounded up', () => {
  expect(estimateCost(requestOf({ maxOutputTokens: 1_000 }), [])).toBe('0.000000000');
  expect(estimateCost(requestOf({ maxOutputTokens: 1 }), [price('output', '0.0000001')])).toBe('0.000000001');
});
