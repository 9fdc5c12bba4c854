import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '..');

/** Each kind of fault, and the file of `npm test` that plays it. The same faults in each area (schedules, hooks, channels, evaluations, reviews …) stand in files that CI alone plays (`*.full.test.ts`). */
const kinds: readonly (readonly [kind: string, file: string, played: RegExp])[] = [
  ['a runs worker killed in a step, at the begin and at the end of a run', 'chaos/worker-killed', /kill\('worker-runs'\)/],
  ['a runs worker frozen', 'chaos/purged', /kill\('worker-runs', 'SIGSTOP'\)/],
  ['a worker killed under a sub-agent', 'chaos/child-killed', /kill\('worker-runs'\)/],
  ['a worker killed in a model call', 'workflows/lost-calls', /kill\('worker-runs'\)/],
  ['an API killed under its readers', 'chaos/api-killed', /kill\('api'\)/],
  ['PostgreSQL killed', 'chaos/services', /kill\('postgres'\)/],
  ['PostgreSQL frozen', 'chaos/frozen-postgres', /SIGSTOP/],
  ['Redis killed and emptied', 'chaos/services', /kill\('redis'\)/],
  ['Temporal killed', 'chaos/services', /kill\('temporal'\)/],
  ['API and workers killed at a budget', 'workflows/budget', /kill\('api'\)/],
  ['a worker killed in an outgoing delivery', 'workflows/delivery-killed', /kill\('worker-runs'\)/],
];

test.each(kinds)('npm test plays: %s', (_kind, file, played) => {
  const path = join(root, `${file}.test.ts`);

  expect(existsSync(path)).toBe(true);
  expect(playedBy(readFileSync(path, 'utf8'))).toMatch(played);
});

test('what CI alone or the whole matrix plays is not what npm test plays', () => {
  const source =
    "const kill = 1;\n\ntest('one', () => kill);\n\nmatrixTest('two', () => freeze);\n\nfullTest('three', () => flush);\n\ntest.each([1])('four', () => stop);\n";

  expect(playedBy(source).match(/kill|freeze|flush|stop/g)).toEqual(['kill', 'kill', 'stop']);
});

/** The text of a test file without the tests that `npm test` does not play. */
function playedBy(source: string): string {
  const parts = source.split(/^(?=(?:test|matrixTest|fullTest)\b)/m);
  return parts.filter((part) => !/^(?:matrixTest|fullTest)\b/.test(part)).join('');
}
