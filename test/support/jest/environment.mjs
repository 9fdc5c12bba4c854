import { setTestGlobals } from './globals.mjs';

/** What Circus and `jest` leave on the global object. */
const circusSymbols = new Set(['JEST_STATE_SYMBOL', 'EVENT_HANDLERS', 'TEST_TIMEOUT_SYMBOL', 'RETRY_TIMES_SETTER']);

/** The process itself, without a vm context. What a test file changes in its environment, folder, console and `exit` ends with it. */
export default class NativeEnvironment {
  global = globalThis;
  #env = { ...process.env };
  #cwd = process.cwd();
  #console = globalThis.console;
  #exit = process.exit;

  /** There is none; Jest asks whether the function exists. */
  getVmContext() {
    return null;
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  setTestGlobals(globals) {
    setTestGlobals(globals);
  }

  async setup() {}

  async teardown() {
    for (const name of Object.keys(process.env)) if (!(name in this.#env)) delete process.env[name];
    for (const [name, value] of Object.entries(this.#env)) if (process.env[name] !== value) process.env[name] = value;
    if (process.cwd() !== this.#cwd) process.chdir(this.#cwd);
    globalThis.console = this.#console;
    process.exit = this.#exit;
    for (const symbol of Object.getOwnPropertySymbols(globalThis)) if (circusSymbols.has(symbol.description)) delete globalThis[symbol];
  }
}
