import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { alerts } from './cases/alerts.ts';
import { appends } from './cases/appends.ts';
import { budgets } from './cases/budgets.ts';
import { costs } from './cases/costs.ts';
import { creation } from './cases/creation.ts';
import { delivery } from './cases/delivery.ts';
import { evaluations } from './cases/evaluations.ts';
import { hooks } from './cases/hooks.ts';
import { idle } from './cases/idle.ts';
import { ingest } from './cases/ingest.ts';
import { reads } from './cases/reads.ts';
import { reembed } from './cases/reembed.ts';
import { retrieval } from './cases/retrieval.ts';
import { review } from './cases/review.ts';
import { rivals } from './cases/rivals.ts';
import { runs } from './cases/runs.ts';
import { search } from './cases/search.ts';
import { signIn } from './cases/sign-in.ts';
import { steps } from './cases/steps.ts';
import { storm } from './cases/storm.ts';
import { usage } from './cases/usage.ts';
import { root } from './env.ts';
import type { Bench } from './harness/bench.ts';
import { machineFacts } from './harness/machine.ts';
import { broken, section, type Reported } from './harness/report.ts';
import { openServices, type BenchServices } from './services.ts';

const benches: readonly Bench[] = [
  reads,
  signIn,
  creation,
  hooks,
  runs,
  steps,
  budgets,
  appends,
  delivery,
  idle,
  storm,
  costs,
  usage,
  alerts,
  retrieval,
  search,
  ingest,
  reembed,
  evaluations,
  review,
  rivals,
];

const say = (line: string) => void process.stdout.write(`${line}\n`);
const { values, positionals } = parseArgs({ options: { rounds: { type: 'string', default: '7' } }, allowPositionals: true });
const rounds = Number(values.rounds);
const unknown = positionals.filter((name) => !benches.some((bench) => bench.name === name));

if (unknown.length > 0 || !(rounds >= 1)) {
  say(`npm run bench [-- --rounds 7] [${benches.map((bench) => bench.name).join('|')} …]`);
  process.exit(2);
}
process.exit(await main(positionals.length === 0 ? benches : benches.filter((bench) => positionals.includes(bench.name))));

/** Runs the chosen benches; all of them together also write the results. Gives 1 when a count or a bench failed: ratios depend on the machine. */
async function main(chosen: readonly Bench[]): Promise<number> {
  let services: BenchServices | null = null;
  let areDurable = false;
  let facts: readonly string[] = [];
  const reported: Reported[] = [];

  try {
    for (const bench of chosen) {
      const { isDurable = false } = bench;
      if (services === null || isDurable !== areDurable) {
        await services?.stop();
        services = await openServices(say, { isDurable });
        areDurable = isDurable;
        facts = machineFacts(services.versions);
      }
      say(`… ${bench.name}`);
      const result = await bench
        .run({ rounds, services: services.children, log: (line) => say(`  ${line}`) })
        .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
      if (result instanceof Error) say(result.stack ?? result.message);
      reported.push({ bench, result });
      say(`\n${section({ bench, result })}`);
    }
  } finally {
    await services?.stop();
  }

  if (chosen.length === benches.length) writeFileSync(join(root, 'bench/RESULTS.md'), resultsOf(reported, facts));
  const { ratios, checks, errors } = broken(reported);
  for (const line of [...errors, ...checks, ...ratios]) say(`over budget: ${line}`);
  return errors.length + checks.length > 0 ? 1 : 0;
}

function resultsOf(reported: readonly Reported[], facts: readonly string[]): string {
  return [
    '# Bench results',
    '',
    `Written by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)}. Floor and product run in turn (A B A B …) after a warm-up; a ratio is product to floor within one round.`,
    'Ratios travel between machines, the numbers beside them do not.',
    '',
    ...facts.map((fact) => `- ${fact}`),
    '',
    reported.map(section).join('\n'),
  ].join('\n');
}
