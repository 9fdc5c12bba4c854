import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { hasStrictIsolation } from '../../ports/sandbox/sandbox.ts';
import { runChecks, type CheckJob } from '../../ports/sandbox/checks.ts';

/** Where the machine can't isolate, checks are refused. */
const inJail = (await hasStrictIsolation()) ? describe : describe.skip;

function archive(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'checks-'));
  writeFileSync(join(folder, 'a.txt'), 'hello\n');
  const bytes = execFileSync('tar', ['-C', folder, '-cf', '-', '.']);
  rmSync(folder, { recursive: true });
  return bytes;
}

function check(commands: readonly string[], change: Partial<CheckJob> = {}, signal = AbortSignal.timeout(240_000)) {
  return runChecks({ archive: archive(), commands, env: {}, memoryMb: 256, cpuMs: 20_000, ...change }, signal);
}

inJail('commands of a repository', () => {
  test('pass over its files, one after the other', async () => {
    expect(await check(['cat a.txt', 'echo more > b.txt', 'cat b.txt'])).toEqual({ kind: 'passed', output: 'hello\nmore\n' });
  });

  test('the first that fails is named, and the last that ran', async () => {
    expect(await check(['true', 'echo no; exit 7', 'echo never'])).toEqual({
      kind: 'failed',
      command: 'echo no; exit 7',
      code: 7,
      output: 'no\n',
    });
  });

  test('see their variables, which stand neither in arguments nor in what is shown', async () => {
    const env = { 'API_KEY': "it's secret", 'bad name': 'x' };
    const reply = await check(['[ "$API_KEY" = "it\'s secret" ] && echo "$API_KEY"', 'grep -rl s[e]cret /proc/[0-9]*/cmdline || true'], {
      env,
    });
    expect(reply).toEqual({ kind: 'passed', output: '***\n' });
  });

  test('reach no network and nothing of this machine', async () => {
    const probe = 'import socket; socket.create_connection(("127.0.0.1", 1), 2)';
    const reply = await check([`python3 -c '${probe}' 2>&1 | tail -1`, 'ls /home /root /work 2>&1 | wc -l', 'ls /etc/passwd || true']);
    expect(reply).toMatchObject({ kind: 'passed', output: expect.stringMatching(/not permitted|unreachable|denied|refused/i) });
    expect(JSON.stringify(reply)).not.toContain('root:');
  });

  test('a loop, too much memory and too much output end them', async () => {
    expect(await check(['while :; do :; done'], { cpuMs: 1_000 })).toMatchObject({ kind: 'limit', reason: 'cpu' });
    expect(await check(['yes'])).toMatchObject({ kind: 'limit', reason: 'output' });
    const hungry = `python3 -c 'x = bytearray(400_000_000); import time; time.sleep(5)'`;
    expect(await check([hungry])).toMatchObject({ kind: expect.stringMatching(/limit|failed/) });
  });

  test('what is no archive passes nothing, and an abort ends all', async () => {
    expect(await check(['true'], { archive: Buffer.from('junk') })).toMatchObject({ kind: 'limit', reason: 'crash' });
    const ending = AbortSignal.timeout(1_000);
    await expect(check(['sleep 60'], {}, ending)).rejects.toThrow(/timeout/i);
  });
});
