import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanPulls } from '../code-review/clean.ts';
import { openModel } from '../code-review/model-answers.ts';
import { diffOf, playPull, type Answering, type Played } from '../code-review/play.ts';
import { plantedPulls } from '../code-review/planted.ts';
import { scoreOf } from '../code-review/score.ts';
import { answerByScript } from '../code-review/scripted-answers.ts';
import { work as readPatch } from '../../ports/diff/patch-work.ts';
import { processEnvironment } from '../env.ts';
import { least, most, type Bench, type BenchOptions, type Finding, type Check, type Outcome } from '../harness/bench.ts';

/** How well pull requests are reviewed, and what reading a diff costs. */
export const review: Bench = {
  name: 'review',
  about:
    'Review of a corpus of 40 pull requests with a planted fault each and 20 clean ones (bench/code-review), by scripted answers with false ones among them, or by the model that LONGHAUL_MODEL names; ' +
    'and reading and hashing a diff of 20,000 changed lines, against the `git diff` that printed it.',
  run: measure,
};

async function measure({ rounds, log }: BenchOptions): Promise<Outcome> {
  const model = openModel(processEnvironment());
  log(`answers: ${model?.name ?? 'scripted, false ones among them'}`);
  const played = await playAll(model?.answer ?? answerByScript);
  const score = scoreOf(played);
  for (const name of ['precision', 'recall', 'f1', 'perPlanted', 'perClean', 'addressed', 'calls'] as const)
    log(`${name}: ${score[name].toFixed(3)}`);
  if (model !== null) log(`tokens: ${model.tokens()}`);
  await model?.close();
  const checks: Check[] = [
    { what: 'findings on 20 clean pull requests', value: score.perClean * score.clean, budget: most(0) },
    { what: 'precision, in hundredths', value: Math.round(score.precision * 100), budget: least(90) },
    { what: 'recall, in hundredths', value: Math.round(score.recall * 100), budget: least(80) },
  ];
  return { findings: [readCost(rounds)], checks };
}

async function playAll(answer: Answering): Promise<Played[]> {
  const played: Played[] = [];
  for (const pull of [...plantedPulls, ...cleanPulls]) played.push(await playPull(pull, answer));
  return played;
}

const files = 100;
const linesOfFile = 100;

/** 20,000 changed lines: 10,000 removed and as many added, in a hundred files. */
function readCost(rounds: number): Finding {
  const text = (mark: string) =>
    Array.from({ length: files }, (_, file) => {
      const lines = Array.from({ length: linesOfFile }, (_line, line) => `  const value${line} = compute(${file}, ${line}, '${mark}');\n`);
      return [`src/file${file}.ts`, lines.join('')] as const;
    });
  const [before, after] = [text('before'), text('after')];
  const bytes = diffOf(before, after);
  readPatch({ bytes });
  const sides = Array.from({ length: rounds }, () => {
    const startedAt = process.cpuUsage();
    readPatch({ bytes });
    const { user, system } = process.cpuUsage(startedAt);
    return { product: (user + system) / 1_000, floor: gitCpuMs(before, after) };
  });
  const ratios = sides.map(({ product, floor }) => product / floor).toSorted((a, b) => a - b);
  const medianOf = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  return {
    what: 'parsing and hashing 20,000 changed lines, CPU',
    unit: 'ms',
    floor: medianOf(sides.map(({ floor }) => floor)),
    product: medianOf(sides.map(({ product }) => product)),
    ratio: { median: medianOf(ratios), min: ratios[0] ?? 0, max: ratios.at(-1) ?? 0 },
    rounds,
    budget: most(1.5),
  };
}

const repeats = 5;

/** Processor time of `git diff` alone, as its shell counts that of its children (POSIX `times`). */
function gitCpuMs(before: readonly (readonly [string, string])[], after: typeof before): number {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-bench-diff-'));
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: folder });
  try {
    git('init', '-q');
    for (const side of [before, after]) {
      for (const [path, text] of side) writeFileSync(join(folder, path.replace('/', '-')), text);
      git('add', '-A');
      git('commit', '-q', '-m', 'x');
    }
    const command = `for i in ${Array.from({ length: repeats }, (_, at) => at).join(' ')}; do git diff -M HEAD~1 HEAD > /dev/null; done; times`;
    const [, children = ''] = execFileSync('bash', ['-c', command], { cwd: folder }).toString().trim().split('\n');
    const parts = [...children.matchAll(/(\d+)m([\d.]+)s/gu)];
    return parts.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1_000, 0) / repeats;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
