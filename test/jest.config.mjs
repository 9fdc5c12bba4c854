/**
 * What `npm test` leaves to CI and `npm run test:full`: further deployments of processes and services, each of whose kinds of fault another test plays. A file that is
 * named on the command line is played whatever its name.
 */
const isFull = process.env['TEST_FULL'] === '1' || process.argv.slice(2).some((word) => word.startsWith('test/') && !word.endsWith('.mjs'));
// Files that leave single tests to CI ask for it (test/chaos/whole.ts).
if (isFull) process.env['TEST_FULL'] = '1';
const left = isFull ? [] : ['\\.full\\.test\\.ts$'];

/** Jest runs the sources as they are: ESM, loaded by Node itself, real services from the global set-up. */
export default {
  rootDir: '..',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  // The whole fault matrix runs by `npm run test:chaos`.
  testPathIgnorePatterns: ['/node_modules/', '\\.matrix\\.test\\.ts$', ...left],
  modulePathIgnorePatterns: ['<rootDir>/.longhaul/', '<rootDir>/dist/'],
  testEnvironment: '<rootDir>/test/support/jest/environment.mjs',
  runtime: '<rootDir>/test/support/jest/runtime.mjs',
  testSequencer: '<rootDir>/test/support/jest/sequencer.mjs',
  transform: {},
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  reporters: ['<rootDir>/test/support/reporter.mjs'],
  // Two and more for each core of the smallest machine: most files wait most of their time. What CI plays beside starts deployments of its own.
  maxWorkers: isFull ? 4 : 5,
  // A worker that has grown is replaced between two files.
  workerIdleMemoryLimit: '1500MB',
  // What a worker has loaded takes the kernel a while to free; half a second, Jest's own limit, is too short on a busy machine.
  workerGracefulExitTimeout: 30_000,
  // A limit for what hangs, and none for what is slow on a busy machine.
  testTimeout: 300_000,
};
