// Reads every OpenAPI document (3.0 to 3.2, JSON or YAML) below a folder as a toolkit would, and counts what becomes of its operations:
//   node bench/openapi-corpus.ts FOLDER [--every N] [--pool]
// A folder of packages is told by package. Without --pool the rules are applied in this process and without the limits of one revision (200 operations,
// 4 MiB), so that each operation is judged; with it each document is read once in the process pool, under all limits.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import pino from 'pino';
import { createOpenApiReader, maxDocumentBytes, type OpenApiReading } from '../ports/openapi/reader.ts';
import { readOpenApi } from '../ports/openapi/rules.ts';
import { createWorkPool } from '../ports/untrusted/pool.ts';

const say = (line: string) => void process.stdout.write(`${line}\n`);
const { values, positionals } = parseArgs({
  options: { every: { type: 'string', default: '1' }, pool: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [folder] = positionals;
if (folder === undefined) {
  say('node bench/openapi-corpus.ts FOLDER [--every N] [--pool]');
  process.exit(2);
}

interface Counted {
  documents: number;
  operations: number;
  kept: number;
  reduced: number;
  refused: number;
  /** Milliseconds of the slowest document. */
  slowest: number;
}

const groups = new Map<string, Counted>();
const reasons = new Map<string, number>();
const reductions = new Map<string, number>();
const notable: string[] = [];
const pool = values.pool ? createWorkPool({ log: pino({ level: 'silent' }) }) : null;
const reader = pool && createOpenApiReader(pool);
let tooLarge = 0;

for (const [position, path] of documentsIn(folder).entries()) {
  if (position % Number(values.every) !== 0) continue;
  if (statSync(path).size > maxDocumentBytes) {
    tooLarge += 1;
    notable.push(`${relative(folder, path)}: larger than a document may be`);
    continue;
  }
  await count(path);
}
report();
// Children that end hold no process.
const held = setInterval(() => undefined, 1_000);
await pool?.close();
clearInterval(held);

function documentsIn(root: string): string[] {
  return readdirSync(root, { withFileTypes: true })
    .toSorted((left, right) => (left.name < right.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(root, entry.name);
      if (entry.isDirectory()) return documentsIn(path);
      return /\.(?:json|ya?ml)$/.test(entry.name) && isOpenApi(path) ? [path] : [];
    });
}

/** Whether a file says of itself that it is one, at its uppermost level as far as that can be told without parsing. */
function isOpenApi(path: string): boolean {
  const text = readFileSync(path, 'utf8');
  const isJson = text.trimStart().startsWith('{');
  return isJson
    ? /"openapi"\s*:\s*"3\.[0-2]/.test(text) && /"paths"\s*:\s*\{/.test(text)
    : /^["']?openapi["']?\s*:\s*["']?3\.[0-2]/m.test(text) && /^["']?paths["']?\s*:/m.test(text);
}

async function count(path: string): Promise<void> {
  const job = { document: readFileSync(path), include: null, exclude: [] };
  const began = performance.now();
  const reading = reader ? await reader.read(null, job) : readOpenApi(job, { operations: Infinity, bytes: Infinity });
  const ms = performance.now() - began;

  const group = groupOf(path);
  const counted = groups.get(group) ?? { documents: 0, operations: 0, kept: 0, reduced: 0, refused: 0, slowest: 0 };
  groups.set(group, counted);
  const reduced = reading.operations.flatMap(({ reducedTo }) => reducedTo ?? []);
  const total = reading.operations.length + reading.leftOutCount;
  const isRefused = reading.operations.length === 0 && reading.problems.length > 0;
  counted.documents += 1;
  counted.operations += total;
  counted.kept += reading.operations.length;
  counted.reduced += reduced.length;
  counted.refused += isRefused ? 1 : 0;
  counted.slowest = Math.max(counted.slowest, ms);
  for (const step of reduced) reductions.set(step, (reductions.get(step) ?? 0) + 1);
  for (const reason of reasonsOf(reading)) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  if (isRefused) notable.push(`${relative(folder ?? '', path)}: refused, ${JSON.stringify(reading.problems[0])}`);
  else if (total > 0 && reading.operations.length / total < 0.97 && !reader)
    notable.push(`${relative(folder ?? '', path)}: ${reading.operations.length} of ${total}`);
}

/** The package that a document comes from, or the folder that it lies in. */
function groupOf(path: string): string {
  const parts = relative(folder ?? '', path).split('/');
  const at = parts.lastIndexOf('node_modules');
  const [scope = '.', name = ''] = parts.slice(at + 1);
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}

function reasonsOf({ leftOut }: OpenApiReading): string[] {
  return leftOut.map(({ reason }) => reason.replace(/, at \/.*$/s, ''));
}

function report(): void {
  say('| from | documents | operations | kept | of it told in less detail | refused whole | slowest |');
  say('|---|---|---|---|---|---|---|');
  const all: Counted = { documents: 0, operations: 0, kept: 0, reduced: 0, refused: 0, slowest: 0 };
  for (const [name, counted] of groups) {
    row(name, counted);
    for (const key of ['documents', 'operations', 'kept', 'reduced', 'refused'] as const) all[key] += counted[key];
    all.slowest = Math.max(all.slowest, counted.slowest);
  }
  row('together', all);
  say(`\nlarger than ${maxDocumentBytes / 1024 / 1024} MiB, not read: ${tooLarge}\n`);
  for (const [title, counts] of [['left out because', reasons] as const, ['told as', reductions] as const]) {
    say(`| ${title} | operations |\n|---|---|`);
    for (const [what, times] of [...counts].toSorted((left, right) => right[1] - left[1])) say(`| ${what} | ${times} |`);
    say('');
  }
  for (const line of notable) say(`- ${line}`);
}

function row(name: string, { documents, operations, kept, reduced, refused, slowest }: Counted): void {
  const share = operations === 0 ? '–' : `${((kept / operations) * 100).toFixed(2)} %`;
  say(`| ${name} | ${documents} | ${operations} | ${kept} (${share}) | ${reduced} | ${refused} | ${Math.round(slowest)} ms |`);
}
