import config from './jest.config.mjs';

/** The whole fault matrix: every kill test with every seed, one file at a time, since each starts a deployment of its own. */
export default {
  ...config,
  testMatch: ['<rootDir>/test/chaos/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
  testTimeout: 600_000,
};
