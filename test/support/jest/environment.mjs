import { readFileSync } from 'node:fs';
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

  constructor(_config, context) {
    this.path = context?.testPath;
    this.cpu = cpuSeconds();
    this.at = Date.now();
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  setTestGlobals(globals) {
    setTestGlobals(globals);
  }

  async setup() {}

  async teardown() {
    if (process.env.TEST_TIMES) {
      const now = cpuSeconds();
      process.stderr.write(
        `CPU own ${(now.own - this.cpu.own).toFixed(1)} children ${(now.children - this.cpu.children).toFixed(1)} wall ${((Date.now() - this.at) / 1000).toFixed(1)} ${this.path}\n`,
      );
    }
    for (const name of Object.keys(process.env)) if (!(name in this.#env)) delete process.env[name];
    for (const [name, value] of Object.entries(this.#env)) if (process.env[name] !== value) process.env[name] = value;
    if (process.cwd() !== this.#cwd) process.chdir(this.#cwd);
    globalThis.console = this.#console;
    process.exit = this.#exit;
    for (const symbol of Object.getOwnPropertySymbols(globalThis)) if (circusSymbols.has(symbol.description)) delete globalThis[symbol];
  }
}

function cpuSeconds() {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
  return { own: (Number(fields[11]) + Number(fields[12])) / 100, children: (Number(fields[13]) + Number(fields[14])) / 100 };
}
