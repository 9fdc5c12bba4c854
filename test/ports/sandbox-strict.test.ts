import { readdirSync, readFileSync, writeFileSync, mkdtempSync, rmSync, chmodSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { createSandbox, hasStrictIsolation, type CodeJob } from '../../ports/sandbox/sandbox.ts';
import { awaitingCode, faultyCode } from './awaiting-code.ts';

/** Where the machine can't isolate, nothing below can be shown; test/ports/sandbox.full.test.ts shows that it is refused then. */
const inJail = (await hasStrictIsolation()) ? describe : describe.skip;
const sandbox = createSandbox();

afterAll(() => sandbox.close());

function run(language: CodeJob['language'], code: string, more: Partial<CodeJob> & { signal?: AbortSignal } = {}) {
  const { signal = AbortSignal.timeout(20_000), ...limits } = more;
  return sandbox.run({ language, isolation: 'strict', code, input: { a: 2 }, memoryMb: 64, cpuMs: 1_000, ...limits }, signal);
}

/** Processes of this machine, in whatever namespace, that were given a text. */
function processesWith(text: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
    } catch {
      return false;
    }
  });
}

function zombiesBelow(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return children.filter((child) => /^\d+ \(.*\) Z/.test(readFileSync(`/proc/${child}/stat`, 'utf8'))).length;
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let tries = 0; tries < 200 && !isTrue(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(isTrue()).toBe(true);
}

inJail('a program in strict isolation', () => {
  test.each([
    ['javascript', 'console.log("hi"); input.a * 21', 'hi\n', 42],
    ['javascript', 'const x = await Promise.resolve(input.a); return x + 1', '', 3],
    ['python', 'print("hi")\nx = input["a"]\nx * 21', 'hi\n', 42],
    ['python', 'import sys\nprint("oops", file=sys.stderr)', 'oops\n', null],
    ['shell', 'read given; echo "got $given"; exit 3', 'got {"a":2}\n', { exit_code: 3 }],
  ] as const)('gives its value and what it printed: %s', async (language, code, console, value) => {
    expect(await run(language, code)).toEqual({ kind: 'done', console, value });
  });

  test.each(awaitingCode)('keeps its value when it awaits at its top: %j', async (code, value) => {
    expect(await run('javascript', code)).toEqual({ kind: 'done', value, console: '' });
  });

  test.each(faultyCode)('is told the line of a fault: %j', async (code, message) => {
    expect(await run('javascript', code)).toMatchObject({ kind: 'failed', message: expect.stringMatching(message) });
  });

  test('imports what its interpreter has', async () => {
    for (const code of ['(await import("node:os")).EOL', 'import("node:os").then(({ EOL }) => EOL)', 'require("node:os").EOL'])
      expect(await run('javascript', code)).toEqual({ kind: 'done', value: '\n', console: '' });
  });

  test.each([
    ['javascript', 'null.x', 'TypeError'],
    ['python', 'x = 1\n1 / 0', 'ZeroDivisionError: division by zero (line 2)'],
    ['python', 'def f(:', 'SyntaxError'],
  ] as const)('tells its own error: %s', async (language, code, message) => {
    expect(await run(language, code)).toMatchObject({ kind: 'failed', message: expect.stringContaining(message) });
  });

  test.each([
    ['javascript', 'for (;;) {}', 'cpu'],
    ['python', 'while True: pass', 'cpu'],
    ['shell', 'while true; do :; done', 'cpu'],
    ['shell', 'while true; do /bin/true; done', 'cpu'],
    ['javascript', 'const all = []; for (;;) all.push(Buffer.alloc(1e6, 1))', 'memory'],
    ['javascript', 'const all = []; for (;;) all.push({ at: Math.random() })', 'memory'],
    ['python', 'all = b"x" * 10**9', 'memory'],
    [
      'python',
      'import mmap\nm = mmap.mmap(-1, 400 * 2**20)\nfor i in range(0, len(m), 4096): m[i] = 1\nimport time; time.sleep(5)',
      'memory',
    ],
    ['python', 'import os\nfor _ in range(8): os.fork()\nall = bytearray(b"x" * 30_000_000)\nimport time; time.sleep(5)', 'memory'],
    ['python', 'def f(): return f()\nf()', 'stack'],
    ['python', 'while True: print("x" * 1000)', 'output'],
    ['shell', 'yes', 'output'],
  ] as const)('ends at its limit: %s %s', async (language, code, reason) => {
    const started = performance.now();

    const reply = await run(language, code, { cpuMs: 2_000 });

    expect(reply).toMatchObject({ kind: 'limit', reason });
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  test('a fork bomb is held to 64 processes and leaves none behind', async () => {
    const mark = `bomb-${process.pid}-${Date.now()}`;
    let most = 0;
    const timer = setInterval(() => (most = Math.max(most, processesWith(mark).length)), 50);

    const reply = await run('python', `mark = "${mark}"\nimport os\nwhile True:\n  try: os.fork()\n  except OSError: pass`, {
      cpuMs: 3_000,
      memoryMb: 256,
    });
    clearInterval(timer);

    expect(reply).toMatchObject({ kind: 'limit' });
    expect(most).toBeLessThanOrEqual(66); // with what started the first
    await until(() => processesWith(mark).length === 0);
    expect(zombiesBelow(process.pid)).toBe(0);
  });

  test('more processes than allowed can not be started, and the program may say so', async () => {
    const reply = await run('shell', 'n=0; while [ $n -lt 200 ]; do sleep 30 & n=$((n + 1)); echo $n; done; sleep 30');

    expect(reply).toMatchObject({ kind: 'done' });
    const started = reply.kind === 'done' ? reply.console.split('\n').filter((line) => /^\d+$/.test(line)).length : 0;
    expect(started).toBeGreaterThan(20);
    expect(started).toBeLessThan(64);
  });

  test('an aborted program and its children are dead when the call throws', async () => {
    const mark = `sleeper-${process.pid}`;
    const abort = new AbortController();
    const running = run('shell', `sh -c 'sleep 60; : ${mark}' & sleep 60; : ${mark}`, { signal: abort.signal });
    await until(() => processesWith(mark).length >= 2);

    abort.abort(new Error('cancelled'));

    await expect(running).rejects.toThrow('cancelled');
    await until(() => processesWith(mark).length === 0);
  });
});

inJail('what a jail hides', () => {
  test('there is no network: not the machine, not its own loopback, no other family', async () => {
    const server = createServer().listen(0, '0.0.0.0');
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const code = [
      'import socket',
      'told = []',
      `for family, target in ((socket.AF_INET, ("127.0.0.1", ${port})), (socket.AF_INET6, ("::1", ${port})), (40, (2, 1024)), (16, (0, 0))):`,
      '  try: socket.socket(family, socket.SOCK_STREAM).connect(target); told.append("open")',
      '  except OSError as error: told.append(error.errno)',
      'told',
    ].join('\n');

    const reply = await run('python', code);
    server.close();

    expect(reply).toMatchObject({ kind: 'done', value: [1, 1, 1, 1] });
  });

  test('an abstract socket of the machine is not there', async () => {
    const server = createServer().listen('\0longhaul-sandbox-test');
    const reply = await run('python', 'import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect("\\0longhaul-sandbox-test")');
    server.close();

    expect(reply).toMatchObject({ kind: 'failed', message: expect.stringContaining('ConnectionRefused') });
  });

  test('no file of the machine but its programs, and nothing can be written but in /tmp', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'canary'), 'canary');
    const code = [
      `cat ${folder}/canary /etc/passwd /etc/shadow /proc/1/environ ${process.cwd()}/package.json 2>/dev/null`,
      'for place in / /usr /dev /dev/shm /proc /etc /lib; do (echo x > $place/canary) 2>/dev/null && echo "wrote $place"; done',
      'echo x > /tmp/mine && cat /tmp/mine',
      'ls /',
    ].join('\n');

    const reply = await run('shell', code);
    rmSync(folder, { recursive: true });

    expect(reply.kind === 'done' ? reply.console : '').toMatch(/x\n(?:bin\n)?dev\n[^]*usr\n$/);
    expect(reply.kind === 'done' ? reply.console : '').not.toMatch(/canary|root:|wrote|longhaul/);
  });

  test('/tmp holds 64 MiB and is gone afterwards', async () => {
    const reply = await run('shell', 'for n in 1 2 3; do head -c 40000000 /dev/zero > /tmp/$n; done 2>&1; du -sm /tmp | cut -f1');
    const after = await run('shell', 'ls /tmp');

    expect(Number(reply.kind === 'done' ? reply.console.trim().split('\n').at(-1) : 'no')).toBeLessThanOrEqual(64);
    expect(after).toMatchObject({ kind: 'done', console: '' });
  });

  test('no variable, no descriptor, no privilege and no process of the machine', async () => {
    const code = [
      'import os',
      'status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)',
      'pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]',
      '[sorted(os.environ), sorted(os.listdir("/proc/self/fd")), os.getuid(), status["CapEff"], status["CapBnd"], status["NoNewPrivs"], status["Seccomp"], max(pids) < 20]',
    ].join('\n');

    const reply = await run('python', code);

    const none = '0000000000000000';
    expect(reply).toMatchObject({
      value: [['HOME', 'LANG', 'PATH', 'PWD'], ['0', '1', '2', '3', '4', '5'], 65_534, none, none, '1', '2', true],
    });
  });

  test.each([
    ['a namespace of its own', 'ctypes.CDLL(None, use_errno=True).unshare(0x10000000)'],
    ['memory that nobody is charged for', 'os.memfd_create("hog")'],
    ['another process', 'ctypes.CDLL(None, use_errno=True).ptrace(16, 1, 0, 0)'],
    ['io_uring', 'ctypes.CDLL(None, use_errno=True).syscall(425, 1, 0)'],
    ['bpf', 'ctypes.CDLL(None, use_errno=True).syscall(321, 0, 0, 0)'],
  ])('the kernel refuses %s', async (_title, call) => {
    const code = `import os, ctypes\ntry: got = ${call}\nexcept OSError as error: got = -error.errno\ngot`;

    expect(await run('python', code)).toMatchObject({ kind: 'done', value: -1 });
  });
});
