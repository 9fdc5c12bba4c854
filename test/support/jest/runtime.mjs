import { createRequire, enableCompileCache, flushCompileCache, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const sharedGlobals = new URL('./globals.mjs', import.meta.url).href;
const ownGlobals = new URL('./own-globals.mjs', import.meta.url).href;

/** `CHILD_MESSAGE_END` of `jest-worker`: no test follows. */
const endOfWorker = 2;

const isTestFile = (url = '') => /\.test\.ts(?:\?|$)/.test(url);

// `@jest/globals` refuses to be loaded by anything but Jest's own module loader.
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== '@jest/globals') return next(specifier, context);
    const url = isTestFile(context.parentURL) ? `${ownGlobals}?of=${encodeURIComponent(context.parentURL)}` : sharedGlobals;
    return { url, format: 'module', shortCircuit: true };
  },
});
// The folder that the global set-up names; `--runInBand` runs tests in the process that has named it.
enableCompileCache(process.env['NODE_COMPILE_CACHE']);

// What Node and native modules free when a worker ends takes a busy machine longer than the half second after which Jest complains. Nothing is left to do.
if (process.send && !process.env['NODE_V8_COVERAGE']) {
  process.once('exit', () => process.kill(process.pid, 'SIGKILL'));
  // The channel goes first, or Jest asks an ended worker for its memory and complains of that.
  process.on('message', ([type]) => type === endOfWorker && process.disconnect());
  process.once('disconnect', () => setTimeout(() => process.exit(), 50));
}

/** How often each test file was loaded in this process. */
const loads = new Map();

/**
 * In place of `jest-runtime`: Node loads the modules, so that the files of one worker share all but the test file itself. Jest's own loader
 * gives each file a copy of every module (the product, Temporal, MikroORM: 3 s of work a file) and never frees it.
 */
export default class NativeRuntime {
  #environment;

  constructor(_config, environment) {
    this.#environment = environment;
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  /** A test file runs anew each time it is asked for. */
  async unstable_importModule(path) {
    const before = loads.get(path) ?? 0;
    loads.set(path, before + 1);
    return import(pathToFileURL(path).href + (before > 0 ? `?again=${before}` : ''));
  }

  requireModule(path) {
    return require(path);
  }

  /** Circus is loaded anew for each test file: its state (tests, hooks, handlers) is that of a module. */
  requireInternalModule(path) {
    const resolved = require.resolve(path);
    delete require.cache[resolved];
    return require(resolved);
  }

  setGlobalsForRuntime(globals) {
    const jest = { setTimeout: (ms) => void (globalThis[Symbol.for('TEST_TIMEOUT_SYMBOL')] = ms) };
    this.#environment.setTestGlobals({ ...globals, jest });
  }

  getSourceMaps() {
    return new Map();
  }

  getAllCoverageInfoCopy() {
    return undefined;
  }

  collectV8Coverage() {
    throw new Error('Coverage is measured from outside: NODE_V8_COVERAGE=<folder> npm test');
  }

  enterTestCode() {}

  leaveTestCode() {}

  /** The processes that tests start and kill would never write what they have compiled. */
  teardown() {
    flushCompileCache();
  }
}
