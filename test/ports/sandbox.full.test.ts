import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from '@jest/globals';
import { createSandbox, type CodeJob, type Sandbox } from '../../ports/sandbox/sandbox.ts';
import { awaitingCode, faultyCode } from './awaiting-code.ts';
import { seccompProgram } from '../../ports/sandbox/seccomp.ts';

/** Where bubblewrap is missing both are bare: the second only says how it is started where it can be. */
const sandboxes: Readonly<Record<'bare' | 'jailed', Sandbox>> = {
  bare: createSandbox({ hasJail: () => Promise.resolve(false) }),
  jailed: createSandbox(),
};

afterAll(() => {
  sandboxes.bare.close();
  sandboxes.jailed.close();
});

function job(code: string, more: Partial<CodeJob> = {}): CodeJob {
  return { language: 'javascript', isolation: 'default', code, input: { a: 2 }, memoryMb: 32, cpuMs: 500, ...more };
}

/** Programs whose command line holds a text; zombies have none. */
function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return Number(pid) !== process.pid && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let tries = 0; tries < 200 && !isTrue(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(isTrue()).toBe(true);
}

describe.each(['bare', 'jailed'] as const)('javascript in a %s child', (kind) => {
  const run = (code: string, more: Partial<CodeJob> = {}) => sandboxes[kind].run(job(code, more), AbortSignal.timeout(20_000));

  test.each([
    ['the last expression is the value', 'console.log("hi", {x: 1}); input.a * 21', { value: 42, console: 'hi {"x":1}' }],
    ['a body may await and return', 'const x = await Promise.resolve(3);\nreturn x + input.a', { value: 5, console: '' }],
    ['a promise becomes what it settles to', 'Promise.resolve([1n, undefined])', { value: ['1', null], console: '' }],
    ['nothing is null', 'let unused = 1;', { value: null, console: '' }],
    ['cycles become text', 'const a = {}; a.a = a; a', { value: '[object Object]', console: '' }],
  ])('%s', async (_title, code, expected) => {
    expect(await run(code)).toEqual({ kind: 'done', ...expected });
  });

  test.each([
    ['throw', '\nthrow new TypeError("bad")', 'TypeError: bad (line 2)'],
    ['syntax', 'let x = ;', 'SyntaxError'],
    ['rejection', 'Promise.reject(new Error("no"))', 'Error: no'],
    ['a text thrown', 'throw "plain"', 'the code threw plain'],
    ['a promise that never settles', 'new Promise(() => {})', 'never settles'],
  ])('its own error is told: %s', async (_title, code, message) => {
    expect(await run(code)).toMatchObject({ kind: 'failed', message: expect.stringContaining(message) });
  });

  test.each([
    ['loops', 'for (;;) {}', ['cpu']],
    ['catches all it can and loops', 'for (;;) try { for (;;) {} } catch {} finally { continue }', ['cpu']],
    ['allocates', 'const a = []; for (;;) a.push(new Array(10000).fill(1.5))', ['memory']],
    ['allocates and catches', 'const a = []; for (;;) try { a.push("x".repeat(1e5) + a.length) } catch {}', ['cpu', 'memory']],
    ['allocates one block', 'new ArrayBuffer(1e9)', ['memory']],
    ['recurses', 'function f() { return f() + 1 } f()', ['stack']],
    ['recurses in a parser', 'JSON.parse("[".repeat(1e6))', ['stack']],
    ['recurses in the compiler', 'eval("[".repeat(1e5))', ['stack']],
    ['gives what is nested too deeply', 'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a', ['stack']],
    ['doubles a text', 'let s = "x"; for (;;) s += s', ['memory']],
    ['recurses in a getter', 'const o = { get a() { return this.a } }; o.a', ['stack']],
    ['backtracks', '/^(a+)+$/.test("a".repeat(60) + "b")', ['cpu']],
    ['prints endlessly', 'for (;;) console.log("x".repeat(1000))', ['output']],
    ['gives too much', '"x".repeat(2e6)', ['output']],
    ['queues endlessly', '(function f() { return Promise.resolve().then(f) })()', ['cpu', 'memory']],
    ['loops in a getter of its error', 'throw { get message() { for (;;) {} } }', ['cpu']],
    ['loops while its value is read', '({ toJSON() { for (;;) {} } })', ['cpu']],
  ])('code that %s ends at a limit', async (_title, code, reasons) => {
    const reply = await run(code);

    expect(reply).toMatchObject({ kind: 'limit' });
    expect(reasons).toContain(reply.kind === 'limit' ? reply.reason : '');
  });

  test.each([
    ['globals', '[typeof process, typeof require, typeof fetch, typeof WebAssembly, typeof setTimeout, typeof XMLHttpRequest].join()'],
    ['a constructor', 'this.constructor.constructor("return typeof process + typeof require")()'],
    ['what the host gave', 'console.log.constructor("return typeof process + typeof require")()'],
    ['a caller', '(function () { try { return typeof arguments.callee.caller } catch { return "undefined" } })()'],
  ])('no trick reaches the host by %s', async (_title, code) => {
    const reply = await run(code);

    expect(reply).toMatchObject({ kind: 'done' });
    expect(String(reply.kind === 'done' ? reply.value : 'no')).toMatch(/^(?:undefined,?)+$/);
  });

  test.each(awaitingCode)('code that awaits at its top keeps its value: %j', async (code, value) => {
    expect(await run(code)).toEqual({ kind: 'done', value, console: '' });
  });

  test.each(faultyCode)('a fault is told with its line: %j', async (code, message) => {
    expect(await run(code)).toMatchObject({ kind: 'failed', message: expect.stringMatching(message) });
  });

  test('nothing can be imported', async () => {
    expect(await run('import("node:fs").then(() => "in", () => "out")')).toMatchObject({ value: 'out' });
    expect(await run('await import("node:fs")')).toMatchObject({ kind: 'failed', message: expect.stringContaining('node:fs') });
  });

  test('a program that is aborted is dead when the call throws', async () => {
    const abort = new AbortController();
    const running = sandboxes[kind].run(job('for (;;) {}', { cpuMs: 60_000 }), abort.signal);
    setTimeout(() => abort.abort(new Error('cancelled')), 300);

    await expect(running).rejects.toThrow('cancelled');
  });
});

test('two programs share nothing, and each has a process of its own', async () => {
  const [left, right] = await Promise.all([
    sandboxes.bare.run(job('globalThis.secret = 1; Object.prototype.leak = 2; 1'), AbortSignal.timeout(20_000)),
    sandboxes.bare.run(job('1'), AbortSignal.timeout(20_000)),
  ]);
  const after = await sandboxes.bare.run(job('[typeof secret, typeof {}.leak].join()'), AbortSignal.timeout(20_000));

  expect([left.kind, right.kind]).toEqual(['done', 'done']);
  expect(after).toMatchObject({ value: 'undefined,undefined' });
});

test('after any number of programs only the warm children are there, and none after the end', async () => {
  const own = createSandbox({ hasJail: () => Promise.resolve(false) });
  const before = processesWith('quickjs').length;

  await Promise.all(Array.from({ length: 6 }, (_, n) => own.run(job(`${n}`), AbortSignal.timeout(20_000))));
  const during = processesWith('quickjs').length - before;
  own.close();

  expect(during).toBeLessThanOrEqual(4);
  await until(() => processesWith('quickjs').length <= before);
});

test('without a jail other languages and strict isolation are refused, never run in less', async () => {
  const signal = AbortSignal.timeout(5_000);

  expect(await sandboxes.bare.run(job('1', { isolation: 'strict' }), signal)).toMatchObject({ kind: 'unavailable' });
  expect(await sandboxes.bare.run(job('print(1)', { language: 'python' }), signal)).toMatchObject({ kind: 'unavailable' });
  expect(await sandboxes.bare.run(job('true', { language: 'shell', isolation: 'strict' }), signal)).toMatchObject({ kind: 'unavailable' });
});

test('a seccomp program exists for the two architectures, and its jumps stay inside', () => {
  for (const architecture of ['x64', 'arm64']) {
    const program = seccompProgram(architecture) ?? Buffer.alloc(0);
    const count = program.length / 8;
    expect(count).toBeGreaterThan(30);
    for (let at = 0; at < count - 3; at += 1) {
      expect(at + 1 + program.readUInt8(at * 8 + 2)).toBeLessThan(count);
      expect(at + 1 + program.readUInt8(at * 8 + 3)).toBeLessThan(count);
    }
  }
  expect(seccompProgram('mips')).toBeNull();
});
