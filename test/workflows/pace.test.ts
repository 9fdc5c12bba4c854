import { expect, test } from '@jest/globals';
import { createPace } from '../../temporal/pace.ts';

test('nothing is held back while sends are as quick as ever, more the longer they take, and at most 3 s', () => {
  const pace = createPace(() => 0);
  expect(pace.after(6)).toBe(0);

  const held = [6, 8, 12, 24, 48].map((tookMs) => pace.after(tookMs));
  expect(held).toEqual(held.toSorted((a, b) => a - b));
  expect(held[2]).toBeGreaterThan(12);
  expect(pace.after(10_000)).toBe(3_000);
  expect(createPace(() => 0).after(0)).toBe(0);
});

test('a sender that has only ever seen a crowded service holds back too', () => {
  expect(createPace(() => 0).after(200)).toBeGreaterThan(1_000);
});

test('a service that is slow by itself is followed within minutes', () => {
  let now = 0;
  const pace = createPace(() => now);
  pace.after(5);
  for (; now < 600_000; now += 3_000) pace.after(100);
  expect(pace.after(100)).toBe(0);
});
