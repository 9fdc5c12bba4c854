import config from './jest.config.mjs';

// Seen by the tests themselves (`test/chaos/whole.ts`).
process.env['CHAOS_WHOLE'] = '1';

/** The whole fault matrix: every kill test with every seed, one file at a time, since each starts a deployment of its own. */
export default {
  ...config,
  testMatch: ['<rootDir>/test/chaos/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  globalSetup: '<rootDir>/test/chaos/report/global-setup.mjs',
  // Writes bench/RELIABILITY.md when the whole matrix has run.
  globalTeardown: '<rootDir>/test/chaos/report/global-teardown.mjs',
  maxWorkers: 1,
  testTimeout: 600_000,
};
