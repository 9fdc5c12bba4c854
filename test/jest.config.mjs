/** Jest runs the sources as they are: ESM, types stripped by swc, real services from the global set-up. */
export default {
  rootDir: '..',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  // The whole fault matrix runs by `npm run test:chaos`.
  testPathIgnorePatterns: ['/node_modules/', '\\.matrix\\.test\\.ts$'],
  modulePathIgnorePatterns: ['<rootDir>/.longhaul/', '<rootDir>/dist/'],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  injectGlobals: false,
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { swcrc: false, jsc: { target: 'es2024', parser: { syntax: 'typescript' } }, module: { type: 'es6' }, sourceMaps: 'inline' },
    ],
  },
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  reporters: ['<rootDir>/test/support/reporter.mjs'],
  maxWorkers: 2,
  // Modules of finished files stay in memory (ESM in vm contexts): a worker that has grown is replaced between two files.
  workerIdleMemoryLimit: '1200MB',
  testTimeout: 30_000,
};
