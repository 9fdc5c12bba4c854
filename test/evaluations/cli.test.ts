import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '../support/temporal.ts';
import { exact, makeEchoAgent, openEvaluations, said, type EvaluationWorld } from './evaluation-world.ts';

let world: EvaluationWorld;
let folder: string;
let slug: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-evaluate-'));
  world = await openEvaluations();
  const agentId = await makeEchoAgent(world);
  slug = ((await world.stack.request('GET', `/agents/${agentId}`)).body as { slug: string }).slug;
  const lines = Array.from({ length: 16 }, (_, at) =>
    JSON.stringify({ id: `i<${at + 1}>`, input: `say answer-${at + 1}`, expected: `answer-${at + 1}` }),
  );
  await writeFile(join(folder, 'items.jsonl'), lines.join('\n'));
  await writeFile(join(folder, 'evaluators.json'), JSON.stringify([exact]));
});
afterAll(async () => {
  await world?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs `longhaul evaluate` as its user does. */
function evaluate(more: readonly string[], env: Record<string, string> = {}) {
  const cli = join(import.meta.dirname, '../../cli/index.ts');
  const args = [
    'evaluate',
    '--agent',
    slug,
    '--dataset',
    join(folder, 'items.jsonl'),
    '--evaluators',
    join(folder, 'evaluators.json'),
    ...more,
  ];
  const child = spawn(process.execPath, [cli, ...args], {
    env: {
      PATH: process.env['PATH'],
      LONGHAUL_URL: world.stack.url(),
      LONGHAUL_SERVICE_KEY: world.stack.tenant.serviceKey.plaintext,
      ...env,
    },
  });
  const told = { text: '' };
  child.stdout.on('data', (part) => void (told.text += String(part)));
  child.stderr.on('data', (part) => void (told.text += String(part)));
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  return { child, told, ended };
}

test('a better and a worse agent are told apart: exit 0, 1 below the rate or worse than the baseline, with a table, links and JUnit', async () => {
  world.answers = (text) => (/answer-(?:[1-9])$/.test(text) ? said(text) : { text: 'no' });
  const first = evaluate(['--min-pass-rate', '0.5', '--junit', join(folder, 'junit.xml')]);
  expect([await first.ended, first.told.text]).toEqual([0, expect.stringContaining('Passed: 56.3 %')]);
  const baseline = /^Evaluation (\S+):/.exec(first.told.text)?.[1] ?? '';
  const junit = await readFile(join(folder, 'junit.xml'), 'utf8');

  const below = evaluate(['--min-pass-rate', '0.9']);
  expect([await below.ended, below.told.text]).toEqual([1, expect.stringContaining('Below the pass rate')]);
  world.answers = said;
  const better = evaluate(['--min-pass-rate', '0.9', '--baseline', baseline]);
  expect([await better.ended, better.told.text]).toEqual([0, expect.stringContaining('7 won, 0 lost, p 0.015625: better')]);
  world.answers = () => ({ text: 'no' });
  const worse = evaluate(['--min-pass-rate', '0', '--baseline', baseline]);
  expect([await worse.ended, worse.told.text]).toEqual([1, expect.stringContaining('Worse than the baseline.')]);

  expect(better.told.text).toContain(`won   i<16>  ${world.stack.url()}/runs/`);
  expect(junit).toContain('tests="16" failures="7" errors="0" skipped="0"');
  expect(junit).toContain('name="i&lt;16&gt; #1"');
  process.stdout.write(process.env['SHOW_CLI'] ? `${first.told.text}\n---\n${better.told.text}\n---\n${worse.told.text}\n` : '');
});

test('what could not be judged is exit 2, with the reason: no such agent, a bad data set, a wrong key, no API, no rate', async () => {
  const bad = join(folder, 'bad.jsonl');
  await writeFile(bad, '{"input": "x"}\n{oops');
  const told = async (more: readonly string[], env?: Record<string, string>) => {
    const run = evaluate(more, env);
    return [await run.ended, run.told.text.trim()];
  };
  const ask = ['--min-pass-rate', '1'];

  expect(await told([...ask, '--agent', 'nobody'])).toEqual([2, 'There is no agent nobody.']);
  expect(await told([...ask, '--dataset', bad])).toEqual([2, expect.stringContaining('line 2: is no valid JSON')]);
  expect(await told([...ask, '--dataset', join(folder, 'gone.csv')])).toEqual([2, expect.stringContaining('gone.csv')]);
  expect(await told(ask, { LONGHAUL_SERVICE_KEY: 'lh_sk_wrong' })).toEqual([2, expect.stringContaining('401')]);
  expect(await told(ask, { LONGHAUL_URL: 'http://127.0.0.1:9' })).toEqual([2, 'No API answers at http://127.0.0.1:9.']);
  expect(await told([])).toEqual([2, '--min-pass-rate wants a number from 0 to 1.']);
});

test('Ctrl-C cancels the evaluation: exit 2', async () => {
  world.answers = () => ({ text: 'late', first_token_ms: 600_000 });
  const run = evaluate(['--min-pass-rate', '1']);
  await until(() => run.told.text.includes('running'));

  run.child.kill('SIGINT');

  expect([await run.ended, run.told.text]).toEqual([2, expect.stringContaining('the evaluation is cancelled')]);
});
