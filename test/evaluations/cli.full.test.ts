import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { until } from '../support/temporal.ts';
import { exact, fakeModels, makeEchoAgent, openEvaluations, said, type EvaluationWorld } from './evaluation-world.ts';

let world: EvaluationWorld;
let folder: string;
let slug: string;
let revisions: { readonly better: string; readonly worse: string };
/** What XML can not hold as it stands, and what it can not hold at all. */
const strange = 'no <b>"&\u0007]]> ümläut 😀';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-evaluate-'));
  world = await openEvaluations(undefined, { envOf: fakeModels(folder, ['better', 'worse']) });
  world.answers = (text) => (/answer-(?:[1-9])$/.test(text) ? said(text) : { text: 'no' });
  world.models.script('better', { steps: [], choose: said });
  world.models.script('worse', { steps: [{ text: strange }] });
  const agentId = await makeEchoAgent(world, { model: 'compatible/m' });
  const revise = async (model: string) =>
    (
      await world.stack.request('POST', `/agents/${agentId}/revisions`, {
        body: { document: { instructions: 'Say what you are told to.', model } },
      })
    ).body as { id: string };
  revisions = { better: (await revise('fake/better')).id, worse: (await revise('fake/worse')).id };
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

test('a better and a worse revision are told apart: exit 0, 1 below the rate or worse than the baseline, with a table, links and JUnit', async () => {
  const first = evaluate(['--min-pass-rate', '0.5', '--junit', join(folder, 'junit.xml')]);
  expect([await first.ended, first.told.text]).toEqual([0, expect.stringContaining('Passed: 56.3 %')]);
  const baseline = /^Evaluation (\S+):/.exec(first.told.text)?.[1] ?? '';

  const below = evaluate(['--min-pass-rate', '0.9']);
  expect([await below.ended, below.told.text]).toEqual([1, expect.stringContaining('Below the required pass rate')]);
  const better = evaluate(['--min-pass-rate', '0.9', '--baseline', baseline, '--revision', revisions.better]);
  expect([await better.ended, better.told.text]).toEqual([0, expect.stringContaining('7 won, 0 lost, p 0.015625: better')]);
  const worse = evaluate(['--min-pass-rate', '0', '--baseline', baseline, '--revision', revisions.worse]);
  expect([await worse.ended, worse.told.text]).toEqual([1, expect.stringContaining('Worse than the baseline.')]);

  expect(better.told.text).toContain(`won   i<16>  ${world.stack.url()}/runs/`);
  process.stdout.write(process.env['SHOW_CLI'] ? `${first.told.text}\n---\n${better.told.text}\n---\n${worse.told.text}\n` : '');
});

interface JunitCase {
  readonly name: string;
  readonly classname: string;
  readonly time: string;
  readonly failure?: { readonly message: string; readonly text: string };
}

test('the JUnit file is XML that a parser reads: a case a result, with the counts of its suite, whatever an answer holds', async () => {
  const file = join(folder, 'parsed.xml');
  await evaluate(['--min-pass-rate', '0', '--revision', revisions.worse, '--repetitions', '2', '--junit', file]).ended;

  const text = await readFile(file, 'utf8');
  expect(XMLValidator.validate(text)).toBe(true);
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: '',
    textNodeName: 'text',
    isArray: (name) => name === 'testcase',
  });
  const { testsuite: suite } = parser.parse(text).testsuites;
  const cases = suite.testcase as JunitCase[];

  expect(suite).toMatchObject({
    tests: '32',
    failures: '32',
    errors: '0',
    skipped: '0',
    name: expect.stringMatching(/^evaluation [0-9a-f-]{36}$/),
  });
  expect(cases).toHaveLength(32);
  expect(new Set(cases.map(({ name }) => name)).size).toBe(32);
  expect(cases[0]).toMatchObject({ name: expect.stringMatching(/^i<\d+> #[12]$/), time: expect.stringMatching(/^\d+\.\d{3}$/) });
  expect(cases[0]?.failure).toMatchObject({ text: strange.replace('\u0007', '\uFFFD'), message: expect.stringContaining('exact 0.000') });
});

test('the documents and the help name the flags that the program has, and it takes no others', async () => {
  const read = (path: string) => readFile(join(import.meta.dirname, '../..', path), 'utf8');
  const flagsIn = (text: string) => [...new Set(text.match(/--[a-z][a-z-]*/g))].toSorted();
  const operations = (await read('docs/operations.md')).split('## Evaluate in CI')[1]?.split('\n## ')[0] ?? '';
  const evaluations = (await read('docs/evaluations.md')).split('## A first one')[1]?.split('\n## ')[0] ?? '';
  const help = /longhaul evaluate ([\s\S]*?)\n {2}longhaul env/.exec(await read('cli/commands.ts'))?.[1] ?? '';
  const asked = /interface AskedValues \{([\s\S]*?)\}/.exec(await read('cli/evaluate.ts'))?.[1] ?? '';
  const known = [...asked.matchAll(/readonly '([a-z-]+)'/g)].map(([, name]) => `--${name}`).toSorted();

  expect(known).toHaveLength(8);
  expect({ operations: flagsIn(operations), evaluations: flagsIn(evaluations), help: flagsIn(help) }).toEqual({
    operations: known,
    evaluations: known,
    help: known,
  });
  const unknown = evaluate(['--min-pass-rate', '1', '--max-errors', '3']);
  expect([await unknown.ended, unknown.told.text]).toEqual([expect.any(Number), expect.stringContaining('--max-errors')]);
  expect(await unknown.ended).not.toBe(0);
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
  expect(await told([...ask, '--dataset', bad])).toEqual([2, expect.stringContaining('line 2: is not valid JSON')]);
  expect(await told([...ask, '--dataset', join(folder, 'gone.csv')])).toEqual([2, expect.stringContaining('gone.csv')]);
  expect(await told(ask, { LONGHAUL_SERVICE_KEY: 'lh_sk_wrong' })).toEqual([2, expect.stringContaining('401')]);
  expect(await told(ask, { LONGHAUL_URL: 'http://127.0.0.1:9' })).toEqual([2, 'No API answers at http://127.0.0.1:9.']);
  expect(await told([])).toEqual([2, '--min-pass-rate must be a number from 0 to 1.']);
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  'Ctrl-C and the end of a pipeline (%s) cancel the evaluation: exit 2, and no run is left',
  async (signal) => {
    world.answers = () => ({ text: 'late', first_token_ms: 600_000 });
    const run = evaluate(['--min-pass-rate', '1']);
    await until(() => run.told.text.includes('running'));

    run.child.kill(signal);

    expect([await run.ended, run.told.text]).toEqual([2, expect.stringContaining('the evaluation is cancelled')]);
    const id = /^Evaluation (\S+):/.exec(run.told.text)?.[1] ?? '';
    expect((await world.read(id)).status).toBe('cancelled');
    expect(await world.sql('select 1 from runs where evaluation_run_id = ? and finished_at is null', [id])).toEqual([]);
  },
);
