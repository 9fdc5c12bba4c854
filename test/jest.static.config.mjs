import base from './jest.config.mjs';

/** The tests that only read the sources: no services. */
export default {
  ...base,
  testMatch: ['<rootDir>/test/contract/{imports,process-times,rooms}.test.ts'],
  globalSetup: undefined,
  globalTeardown: undefined,
};
