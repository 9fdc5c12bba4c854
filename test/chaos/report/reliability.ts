import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { blowNames } from '../faults/blows.ts';
import type { SeedResult } from '../seed.ts';
import { causeRows } from './cause-table.ts';
import { freezeRows, type FreezeResult } from './freeze-table.ts';
import { readResults } from './results.ts';

const file = fileURLToPath(new URL('../../../bench/RELIABILITY.md', import.meta.url));

/** What the crowd test found. */
export interface CrowdResult {
  readonly queued: number;
  readonly idleMs: readonly number[];
  readonly busyMs: readonly number[];
  readonly startMs: readonly number[];
  readonly faults: readonly string[];
  readonly acknowledged: number;
  readonly lostRuns: number;
}

/** One scenario with a name of its own: how often it was played, and what was seen. */
export interface ScenarioResult {
  readonly name: string;
  readonly runs: number;
  readonly told: string;
}

type Kept = Omit<SeedResult, 'evidence'>;
type Row = readonly (string | number)[];

/** Writes the table of the whole matrix from the results that its tests left. */
export function writeReliability(): void {
  const seeds = readResults<Kept>('random').toSorted((a, b) => a.seed - b.seed);
  writeFileSync(file, `${textOf(seeds, readResults<CrowdResult>('crowd'), readResults<ScenarioResult>('scenario'))}\n`);
}

/** Prints the table of freezes, of whatever part of it was played. */
export function printFreezes(): void {
  const lines = freezeLines(readResults<FreezeResult>('freeze'));
  if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
}

function freezeLines(freezes: readonly FreezeResult[]): string[] {
  if (freezes.length === 0) return [];
  const [head, ...rows] = freezeRows(freezes);
  return head ? table(head, rows) : [];
}

function causeLines(seeds: readonly Kept[]): string[] {
  const [head, ...rows] = causeRows(seeds.flatMap((seed) => seed.causes));
  if (!head || seeds.length === 0) return [];
  return [
    'What starts runs besides people. A cause is under a fault that was there between the request and the end of its last run. An event has two triggers, and so two runs; coalesced deliveries share one, so that',
    'their runs are counted once for each.',
    '',
    ...table(head, rows),
  ];
}

function textOf(seeds: readonly Kept[], crowds: readonly CrowdResult[], scenarios: readonly ScenarioResult[]): string {
  const sum = (pick: (seed: Kept) => number) => seeds.reduce((total, seed) => total + pick(seed), 0);
  const blows = seeds.flatMap((seed) => seed.blows);
  return [
    '# Reliability',
    '',
    `Written by \`npm run test:chaos\` on ${new Date().toISOString().slice(0, 10)}. Each seed starts a deployment of its own (two API processes, two workers for`,
    'runs, one for bulk; PostgreSQL, Redis and Temporal behind proxies that can grow slow), starts 50 mixed runs, watches each over SSE and WebSocket,',
    'staying and roaming, answers questions, steers, cancels, and deals blows meanwhile. When all is quiet the checker (`test/chaos/checker`) holds what the',
    'clients were told, what they saw, what the tools and the model server counted, and the rows against each other. `CHAOS_SEED=7 npm run test:chaos -- random`',
    'repeats a seed.',
    '',
    ...machine(),
    '',
    '## All seeds together',
    '',
    ...table(
      ['what', 'count'],
      [
        ['seeds', seeds.length],
        ['faults injected', blows.length],
        ['starts acknowledged', sum((seed) => seed.counts.acknowledged)],
        ['runs with sub-agents’', sum((seed) => seed.counts.runs)],
        ['acknowledged runs lost', sum((seed) => seed.counts.lostRuns)],
        ['frames delivered', sum((seed) => seed.counts.frames.delivered)],
        ['frames lost', sum((seed) => seed.counts.frames.lost)],
        ['frames doubled', sum((seed) => seed.counts.frames.doubled)],
        ['tool effects', sum((seed) => seed.counts.effects)],
        ['writes that came twice', sum((seed) => seed.counts.doubledEffects)],
        ['answers to questions taken', sum((seed) => seed.counts.answers)],
        ['messages added', sum((seed) => seed.counts.inputs)],
        ['cancels taken', sum((seed) => seed.counts.cancels)],
        ['whole answers of the model', sum((seed) => seed.counts.model.completed)],
        ['rows in the ledger (broken answers too)', sum((seed) => seed.counts.model.settled)],
        ['whole answers whose worker was lost before it stored them', sum((seed) => seed.counts.model.unsettled)],
        ['promises broken', sum((seed) => seed.faults.length)],
      ],
    ),
    '',
    '## By fault',
    '',
    'Recovery: from the mending to the next frame that any subscriber got, whatever else was broken at that time.',
    '',
    ...table(
      ['fault', 'injected', 'recovery, median', 'worst'],
      blowNames.map((name) => blowRow(name, blows)),
    ),
    '',
    '## By seed',
    '',
    ...table(
      [
        'seed',
        'pool',
        'faults',
        'acknowledged',
        'lost',
        'succeeded',
        'cancelled',
        'failed',
        'frames',
        'lost or doubled',
        'slowest start',
        'quiet after',
        'whole',
      ],
      seeds.map(seedRow),
    ),
    ...section('Causes', causeLines(seeds)),
    ...section('Freezes', freezeLines(readResults<FreezeResult>('freeze'))),
    ...(crowds.length > 0 ? ['', '## Two tenants', '', ...crowds.flatMap(crowdLines)] : []),
    ...(scenarios.length > 0
      ? [
          '',
          '## Scenarios',
          '',
          ...table(
            ['scenario', 'runs', 'seen'],
            scenarios.map(({ name, runs, told }) => [name, runs, told]),
          ),
        ]
      : []),
  ].join('\n');
}

function blowRow(name: string, blows: Kept['blows']): Row {
  const of = blows.filter((blow) => blow.name === name);
  const times = of.flatMap((blow) => (blow.recoveryMs === null ? [] : [blow.recoveryMs])).toSorted((a, b) => a - b);
  return [name, of.length, seconds(times[Math.floor(times.length / 2)]), seconds(times.at(-1))];
}

function seedRow({ seed, poolMax, blows, counts, slowestStartMs, quietMs, wholeMs }: Kept): Row {
  const { frames } = counts;
  return [
    ...[seed, poolMax ?? 'usual', blows.length, counts.acknowledged, counts.lostRuns, counts.succeeded, counts.cancelled, counts.failed],
    ...[frames.delivered, frames.lost + frames.doubled, seconds(slowestStartMs), seconds(quietMs), seconds(wholeMs)],
  ];
}

function crowdLines({ queued, idleMs, busyMs, startMs, acknowledged, lostRuns }: CrowdResult): string[] {
  return table(
    ['what', 'value'],
    [
      ['runs that one workspace has queued', queued],
      ['another tenant’s start to its first step, idle, median', `${median(idleMs) ?? '–'} ms`],
      [`the same beside the crowd, median of ${busyMs.length}`, `${median(busyMs) ?? '–'} ms`],
      ['its acknowledgements beside the crowd, worst', `${Math.max(...startMs)} ms`],
      ['starts acknowledged', acknowledged],
      ['lost', lostRuns],
    ],
  );
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', `## ${title}`, '', ...lines];
}

function table(head: Row, rows: readonly Row[]): string[] {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}

function machine(): string[] {
  const [first] = cpus();
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  const isChanged = execFileSync('git', ['status', '--porcelain', '--', '.', ':!bench/RELIABILITY.md'], { encoding: 'utf8' }) !== '';
  return [
    `- ${cpus().length} × ${first?.model.trim() ?? 'processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`,
    `- commit ${commit}${isChanged ? ' with changes' : ''}`,
  ];
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

function seconds(ms: number | undefined): string {
  return ms === undefined || !Number.isFinite(ms) ? '–' : `${(ms / 1_000).toFixed(1)} s`;
}
