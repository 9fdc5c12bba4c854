import { readFileSync } from 'node:fs';
import { started } from '../started.ts';
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
  #path;
  #processor = processorSeconds();

  constructor(_config, { testPath }) {
    this.#path = testPath;
    started.processes = 0;
  }

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
    this.#tellProcessorTime();
    for (const name of Object.keys(process.env)) if (!(name in this.#env)) delete process.env[name];
    for (const [name, value] of Object.entries(this.#env)) if (process.env[name] !== value) process.env[name] = value;
    if (process.cwd() !== this.#cwd) process.chdir(this.#cwd);
    globalThis.console = this.#console;
    process.exit = this.#exit;
    for (const symbol of Object.getOwnPropertySymbols(globalThis)) if (circusSymbols.has(symbol.description)) delete globalThis[symbol];
  }
  /** Waiting files and working ones look alike by the clock. */
  #tellProcessorTime() {
    const now = processorSeconds();
    if (now === null) return;
    const [own, children] = ['own', 'children'].map((of) => (now[of] - this.#processor[of]).toFixed(1));
    process.stderr.write(`${own} s of processor time, ${children} s of ended children, ${started.processes} starts ${this.#path}\n`);
  }
}

/** Of this process and of those that it has started and that have ended (proc(5)); null where nobody asks or Linux does not run. */
function processorSeconds() {
  if (!process.env.TEST_TIMES || process.platform !== 'linux') return null;
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ').map(Number);
  return { own: (fields[11] + fields[12]) / 100, children: (fields[13] + fields[14]) / 100 };
}
