import { test } from '@jest/globals';

/** Whether the whole fault matrix is played (`npm run test:chaos`); `npm test` plays one fault of each kind. */
export const isWholeMatrix = process.env['CHAOS_WHOLE'] === '1';

/** Whether all is played that CI plays (`.ci/run`, `npm run test:full`, a file named on the command line). */
export const isFull = isWholeMatrix || process.env['TEST_FULL'] === '1';

/** A test that `npm test` leaves to CI: one more fault, or a crowd, beside those that other tests of the file play. */
export function fullTest(name: string, play: () => void | Promise<void>, timeoutMs?: number): void {
  if (isFull) test(name, play, timeoutMs);
}

/** The cases of a table that a run plays: all of them in the whole matrix, else the first of each kind. */
export function oneOfEach<Case>(cases: readonly Case[], kindOf: (one: Case) => string): readonly Case[] {
  if (isWholeMatrix) return cases;
  const kinds = cases.map(kindOf);
  return cases.filter((_one, at) => kinds.indexOf(kinds[at] ?? '') === at);
}

/** A test that the whole matrix alone plays: one more fault of a kind that `npm test` plays in another test of the same area. */
export function matrixTest(name: string, play: () => Promise<void>, timeoutMs?: number): void {
  if (isWholeMatrix) test(name, play, timeoutMs);
}
