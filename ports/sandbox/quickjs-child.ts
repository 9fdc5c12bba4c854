// Runs in a separate process, from the text of this file: it can read no file, so everything it needs arrives on stdin, and only types may be imported here.
import type * as facade from 'quickjs-emscripten';
import type { QuickJSContext, QuickJSHandle, QuickJSWASMModule } from 'quickjs-emscripten';
import type { CodeJob, CodeReply } from './job.ts';

/** Stack of the guest; with 256 KiB the stack of the host would overflow first. */
const stackBytes = 128 * 1024;
const maxOutputChars = 1024 * 1024;

/**
 * Flag of the interpreter (JS_EVAL_FLAG_ASYNC of quickjs.h): a program may use top-level await, and yields the promise of an object that holds the value of its
 * last expression.
 */
const evalAsync = 1 << 7;

/** JS_EVAL_FLAG_COMPILE_ONLY of quickjs.h. */
const compileOnly = 1 << 5;

/** The part of the global that is needed here: the project's types include no DOM. */
interface Memory {
  readonly buffer: ArrayBuffer;
}
declare const WebAssembly: {
  compile(bytes: Buffer): Promise<never>;
  Memory: new (pages: { readonly initial: number; readonly maximum: number }) => Memory;
};

type Core = Pick<typeof facade, 'newQuickJSWASMModuleFromVariant' | 'newVariant'>;
type Require = (name: string) => unknown;

/** The three CommonJS files of the interpreter, by name. */
interface Sources {
  readonly core: string;
  readonly types: string;
  readonly ffi: string;
  readonly emscripten: string;
}

const prelude = `(function (print, inputText) {
  'use strict';
  const { parse, stringify } = JSON;
  const text = (value) => {
    if (typeof value === 'string') return value;
    if (value instanceof Error) return value.name + ': ' + value.message;
    if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') return String(value);
    try { return stringify(value) ?? String(value); } catch { return Object.prototype.toString.call(value); }
  };
  const line = (...values) => print(values.map(text).join(' '));
  globalThis.console = { log: line, info: line, warn: line, error: line, debug: line };
  globalThis.input = parse(inputText);
  const plain = (key, value) => (typeof value === 'bigint' ? String(value) : value);
  return (value) => {
    try { return stringify(value, plain) ?? 'null'; } catch { return stringify(String(value)); }
  };
})`;

/** What one guest has done; `over` is final: the guest is interrupted and can't catch it. */
interface Guest {
  readonly job: CodeJob;
  readonly memory: Memory;
  /** What it has printed. */
  readonly lines: string[];
  outputChars: number;
  over: 'cpu' | 'output' | null;
}

const frames = readFrames();
const sources = JSON.parse(await frames.next()) as Sources; // made by the parent from its own packages
const wasm = await WebAssembly.compile(Buffer.from(await frames.next(), 'latin1'));
const load = loader(sources);
const job = JSON.parse(await frames.next()) as CodeJob; // made by the parent
const cpuAtStart = cpuMs();
const reply = await run(job);
process.stdout.write(JSON.stringify(reply), () => process.exit(0));

async function run(asked: CodeJob): Promise<CodeReply> {
  const pages = asked.memoryMb * 16;
  const memory = new WebAssembly.Memory({ initial: 256, maximum: Math.max(256, pages) });
  const guest: Guest = { job: asked, memory, lines: [], outputChars: 0, over: null };
  const told = () => guest.lines.join('\n');
  try {
    const module = await openModule(memory);
    return { ...evaluate(module, guest), console: told() };
  } catch (error) {
    // The interpreter itself failed: an allocation where it must not fail, or the stack of the host.
    const own = error instanceof RangeError ? 'stack' : 'crash';
    return { kind: 'limit', reason: guest.over ?? (isFull(guest) ? 'memory' : own), console: told() };
  }
}

function openModule(memory: Memory): Promise<QuickJSWASMModule> {
  const core = load('core') as Core; // the facade exports the same
  const { QuickJSFFI } = load('ffi') as { QuickJSFFI: never };
  const factory = load('emscripten') as never;
  const variant = {
    type: 'sync' as const,
    importFFI: () => Promise.resolve(QuickJSFFI),
    importModuleLoader: () => Promise.resolve(factory),
  };
  return core.newQuickJSWASMModuleFromVariant(core.newVariant(variant, { wasmModule: wasm, wasmMemory: memory as never }));
}

type Ended = { kind: 'done'; value: unknown } | { kind: 'failed'; message: string } | { kind: 'limit'; reason: CodeLimitReason };
type CodeLimitReason = Extract<CodeReply, { kind: 'limit' }>['reason'];

function evaluate(module: QuickJSWASMModule, guest: Guest): Ended {
  const runtime = module.newRuntime();
  runtime.setMaxStackSize(stackBytes);
  runtime.setInterruptHandler(() => isOver(guest));
  const context = runtime.newContext();
  const print = context.newFunction('print', (line) => tell(guest, context.typeof(line) === 'string' ? context.getString(line) : ''));
  const input = context.newString(JSON.stringify(guest.job.input ?? null));
  const open = context.unwrapResult(context.evalCode(prelude, 'prelude.js'));
  const asJson = context.unwrapResult(context.callFunction(open, context.undefined, print, input));

  const evaluated = context.evalCode(compilable(context, guest.job.code), 'code.js', evalAsync);
  if (evaluated.error) return problem(context, guest, evaluated.error);
  const ended = settle(context, guest, evaluated.value);
  if ('kind' in ended) return ended;
  const settled = settle(context, guest, context.getProp(ended.value, 'value'));
  if ('kind' in settled) return settled;
  const text = context.callFunction(asJson, context.undefined, settled.value);
  if (text.error) return problem(context, guest, text.error);
  const json = context.getString(text.value);
  if (json.length + guest.outputChars > maxOutputChars) return { kind: 'limit', reason: 'output' };
  return { kind: 'done', value: JSON.parse(json) };
}

/** Returns the code as a program, or, when it is none because it returns, as the body of an async function. Its lines keep their numbers. */
function compilable(context: QuickJSContext, code: string): string {
  const compiled = context.evalCode(code, 'code.js', evalAsync | compileOnly);
  if (!compiled.error) {
    compiled.value.dispose();
    return code;
  }
  const isReturn = property(context, compiled.error, 'message') === 'return not in a function';
  compiled.error.dispose();
  return isReturn ? `(async () => {${code}\n})()` : code;
}

/** Runs the jobs that the guest has queued; a promise becomes its settled value. */
function settle(context: QuickJSContext, guest: Guest, value: QuickJSHandle): { value: QuickJSHandle } | Ended {
  while (context.runtime.hasPendingJob()) {
    const ran = context.runtime.executePendingJobs(1_000);
    if (ran.error) return problem(context, guest, ran.error);
    if (isOver(guest)) return { kind: 'limit', reason: guest.over ?? 'cpu' };
  }
  const state = context.getPromiseState(value);
  if (state.type === 'fulfilled') return { value: state.value };
  if (state.type === 'rejected') return problem(context, guest, state.error);
  // When no further job could be queued, the promise is silently dropped.
  if (isFull(guest)) return { kind: 'limit', reason: 'memory' };
  return { kind: 'failed', message: 'the promise that the code gave never settles' };
}

function problem(context: QuickJSContext, guest: Guest, error: QuickJSHandle): Ended {
  if (guest.over !== null || isOver(guest)) return { kind: 'limit', reason: guest.over ?? 'cpu' };
  const name = property(context, error, 'name');
  const message = property(context, error, 'message');
  if (guest.over !== null) return { kind: 'limit', reason: guest.over };
  if (name === 'InternalError' && (message === 'out of memory' || message === 'string too long'))
    return { kind: 'limit', reason: 'memory' };
  if (message === 'stack overflow') return { kind: 'limit', reason: 'stack' };
  if (name === null && message === null && isFull(guest)) return { kind: 'limit', reason: 'memory' };
  if (name === null && message === null) return { kind: 'failed', message: thrownText(context, error) };
  return { kind: 'failed', message: `${name ?? 'Error'}: ${message ?? ''}${locationOf(property(context, error, 'stack'))}` };
}

/** Returns a text property; null when there is none, or when reading it failed. */
function property(context: QuickJSContext, owner: QuickJSHandle, name: string): string | null {
  if (!['object', 'function'].includes(context.typeof(owner))) return null;
  try {
    const value = context.getProp(owner, name);
    return context.typeof(value) === 'string' ? context.getString(value).slice(0, 2_000) : null;
  } catch {
    return null;
  }
}

function thrownText(context: QuickJSContext, thrown: QuickJSHandle): string {
  const isText = ['string', 'number', 'boolean'].includes(context.typeof(thrown));
  return isText ? `the code threw ${context.getString(thrown).slice(0, 500)}` : 'the code threw something that is no error';
}

function locationOf(stack: string | null): string {
  const line = /code\.js:(\d+)/.exec(stack ?? '')?.[1];
  return line === undefined ? '' : ` (line ${line})`;
}

function tell(guest: Guest, line: string): void {
  guest.outputChars += line.length + 1;
  if (guest.outputChars > maxOutputChars) guest.over ??= 'output';
  else guest.lines.push(line);
}

function isOver(guest: Guest): boolean {
  if (guest.over === null && cpuMs() - cpuAtStart > guest.job.cpuMs) guest.over = 'cpu';
  return guest.over !== null;
}

/** Whether less than a megabyte of its memory is still available. */
function isFull(guest: Guest): boolean {
  return guest.memory.buffer.byteLength >= (guest.job.memoryMb - 4) * 1024 * 1024;
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** CommonJS without a file system. */
function loader(texts: Sources): Require {
  const loaded = new Map<string, unknown>();
  const names: Readonly<Record<string, keyof Sources>> = { '@jitl/quickjs-ffi-types': 'types' };
  const required: Require = (name) => {
    const key = names[name] ?? (Object.hasOwn(texts, name) ? (name as keyof Sources) : null);
    if (key === null) return {}; // node:fs, which is used only without a compiled module
    if (loaded.has(key)) return loaded.get(key);
    const module = { exports: {} };
    // The interpreter's own files, sent by the parent; the guest's code never gets here.
    new Function('module', 'exports', 'require', '__filename', '__dirname', texts[key])(module, module.exports, required, '/sandbox', '/');
    loaded.set(key, module.exports);
    return module.exports;
  };
  return required;
}

/** Reads frames on stdin: a length of 4 bytes, then that many bytes, decoded as latin1 or UTF-8 depending on their content. */
function readFrames(): { next(): Promise<string> } {
  const chunks = process.stdin[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  let count = 0;
  const take = async (size: number): Promise<Buffer> => {
    const parts = [rest];
    for (let have = rest.length; have < size;) {
      const { value, done } = await chunks.next();
      if (done) process.exit(0); // the parent has exited
      parts.push(value as Buffer);
      have += (value as Buffer).length;
    }
    const all = Buffer.concat(parts);
    rest = all.subarray(size);
    return all.subarray(0, size);
  };
  return {
    async next() {
      const size = (await take(4)).readUInt32LE(0);
      const bytes = await take(size);
      count += 1;
      return bytes.toString(count === 2 ? 'latin1' : 'utf8');
    },
  };
}
