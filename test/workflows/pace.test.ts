import { expect, test } from '@jest/globals';
import { createPace } from '../../temporal/pace.ts';

test('nothing is held back while sends are as quick as ever, more the longer they take, and at most 5 s', () => {
  const pace = createPace();
  expect(pace.after(6)).toBe(0);
  expect(pace.after(6)).toBeLessThan(1);

  const held = [8, 12, 24, 48].map((tookMs) => pace.after(tookMs));
  expect(held).toEqual(held.toSorted((a, b) => a - b));
  expect(held[1]).toBeGreaterThan(12);
  expect(pace.after(10_000)).toBe(5_000);
});

test('a sender that has only ever seen a crowded service holds back too', () => {
  expect(createPace().after(200)).toBeGreaterThan(1_000);
});

test('a service that has become slower for good is followed', () => {
  const pace = createPace();
  for (let n = 0; n < 2_000; n++) pace.after(40);
  expect(pace.after(40)).toBe(0);
});
