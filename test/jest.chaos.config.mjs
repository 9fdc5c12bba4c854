import { readdirSync, readFileSync } from 'node:fs';
import config from './jest.config.mjs';

// Seen by the tests themselves (`test/chaos/whole.ts`).
process.env['CHAOS_WHOLE'] = '1';

/** Test files anywhere of whose tables `npm test` plays a part (`oneOfEach`, `isWholeMatrix`). */
const shortened = readdirSync(import.meta.dirname, { recursive: true })
  .filter((path) => path.endsWith('.test.ts') && readFileSync(`${import.meta.dirname}/${path}`, 'utf8').includes('chaos/whole.ts'))
  .map((path) => `<rootDir>/test/${path}`);

/** The whole fault matrix: every kill test with every seed, one file at a time, since each starts a deployment of its own. */
export default {
  ...config,
  testMatch: ['<rootDir>/test/chaos/**/*.test.ts', ...shortened],
  testPathIgnorePatterns: ['/node_modules/'],
  globalSetup: '<rootDir>/test/chaos/report/global-setup.mjs',
  // Writes bench/RELIABILITY.md when the whole matrix has run.
  globalTeardown: '<rootDir>/test/chaos/report/global-teardown.mjs',
  maxWorkers: 1,
  testTimeout: 600_000,
};
