import { tmpdir } from 'node:os';
import { expect, test } from '@jest/globals';
import { scratchFolder } from '../support/folders.ts';
import { isWholeMatrix, oneOfEach } from './whole.ts';

test('of a table npm test plays the first case of each kind in its order, the whole matrix every case', () => {
  const cases = ['pdf 1', 'csv 1', 'pdf 2', 'csv 2', 'eml 1'];

  expect(oneOfEach(cases, (name) => name.slice(0, 3))).toEqual(isWholeMatrix ? cases : ['pdf 1', 'csv 1', 'eml 1']);
});

test('what tests write for themselves lies where it goes with the run', () => {
  expect(tmpdir().startsWith(scratchFolder('tmp-'))).toBe(true);
});
