import pg from 'pg';
import { newId } from '../../db/ids.ts';
import type { Databases } from '../../db/databases.ts';
import { minIndexedChunks } from '../../db/knowledge/search/vector-index.ts';
import { searchModes } from '../../domain/knowledge/search/fusion.ts';
import { indexVectors, loadBase, shares, type LoadedBase } from '../../test/knowledge/loaded-base.ts';
import { testDatabase } from '../../test/support/database.ts';
import { searchedSizes } from '../env.ts';
import { least, most, type Bench, type BenchOptions, type Finding, type Check, type Outcome } from '../harness/bench.ts';
import { compare, finding } from '../harness/compare.ts';
import { using } from '../harness/deployment.ts';
import { floorSide, productSide, questionVector, sampleOf, searched, type Question, type SearchSide } from '../harness/search-sides.ts';

/** Searches of each side in a round, without a filter and with one. */
const searches = { all: 25, some: 3 };
/** Rounds before the first that counts: what runs in every search is compiled by V8 after some hundred of them, as in a process that serves. */
const warmUps = { all: 12, some: 1 };
const questions = 20;

/** How long a search takes. */
export const search: Bench = {
  name: 'search',
  about:
    'A hybrid search of a base of so many chunks (synthetic, vectors of 16 dimensions, HNSW above 20,000), against the same search as three statements by hand: candidates by GIN with ts_rank, ' +
    'the nearest by comparison or HNSW with their distances, both of live items that are valid now, and ten hits, past the policies and with nothing to resolve. Each side has one connection that keeps its plans. Processor is that of ' +
    'the bench’s process and of the server’s together. Filters let through 0.1 % to 100 % of the items.',
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds, log }: BenchOptions, keep: Keep): Promise<Outcome> {
  const database = await testDatabase({ poolMax: 1 });
  keep({ stop: () => database.drop() });
  const admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  keep({ stop: () => admin.end() });
  await admin.query("set session_replication_role = 'replica'; set maintenance_work_mem = '2GB'");
  const outcomes: Outcome[] = [];
  for (const count of searchedSizes()) {
    const base = await loadBase(admin, { organizationId: newId(), workspaceId: newId() }, count);
    if (count > minIndexedChunks) await indexVectors(admin, base);
    await admin.query('analyze');
    log(`${count} chunks`);
    outcomes.push(await measureBase({ db: database.db, admin, rounds }, base, count));
  }
  return { findings: outcomes.flatMap(({ findings }) => findings), checks: outcomes.flatMap(({ checks }) => checks) };
}

interface Measuring {
  readonly db: Databases;
  readonly admin: pg.Client;
  readonly rounds: number;
}

/** Times, counts and recall of one base. */
export async function measureBase({ db, admin, rounds }: Measuring, base: LoadedBase, count: number): Promise<Outcome> {
  const sides = { floor: await floorSide(admin, base, count), product: await productSide(db, base) };
  const chunks = `${count.toLocaleString('en')} chunks`;
  const plain = { word: 'w7', vector: questionVector(0), share: null };
  const findings = await findingsOf(sides, { what: chunks, question: plain, rounds, isBudgeted: true });
  for (const share of shares) {
    const what = `${chunks}, ${share / 10} % pass the filter`;
    findings.push(...(await findingsOf(sides, { what, question: { ...plain, share }, rounds: Math.min(rounds, 3), isBudgeted: false })));
  }
  const checks: Check[] = [
    { what: `${chunks}: searches with other than min(top_k, matches) hits`, value: await wrongCounts(db, base, count), budget: most(0) },
  ];
  if (count > minIndexedChunks) checks.push({ what: `${chunks}: recall@10 of HNSW`, value: await recall(db, base), budget: least(0.98) });
  return { findings, checks };
}

interface Asked {
  readonly what: string;
  readonly question: Question;
  readonly rounds: number;
  readonly isBudgeted: boolean;
}

async function findingsOf(
  { floor, product }: Readonly<Record<'floor' | 'product', SearchSide>>,
  { what, question, rounds, isBudgeted }: Asked,
): Promise<Finding[]> {
  const many = question.share === null ? searches.all : searches.some;
  const sides = { floor: () => sampleOf(floor, question, many), product: () => sampleOf(product, question, many) };
  const measured = await compare({ rounds, warmUps: question.share === null ? warmUps.all : warmUps.some, sides });
  const of = { unit: 'ms', floor: 'floor', product: 'product', budget: isBudgeted ? most(1.5) : null } as const;
  return [
    finding(measured, { ...of, what: `${what}, p50`, metric: 'ms' }),
    finding(measured, { ...of, what: `${what}, processor`, metric: 'processor' }),
  ];
}

/** Every item has the word `common`, so that what passes the filter is what matches. */
async function wrongCounts(db: Databases, base: LoadedBase, count: number): Promise<number> {
  const asked = shares.flatMap((share) => searchModes.flatMap((mode) => [true, false].map((isExact) => ({ share, mode, isExact }))));
  let wrong = 0;
  for (const how of asked) {
    const passing = Math.floor(count / 1_000) * how.share + Math.min(count % 1_000, how.share);
    const found = await searched(db, base, { word: 'common', vector: questionVector(1), topK: 100, ...how });
    if (found.length !== Math.min(100, passing) || new Set(found).size !== found.length) wrong += 1;
  }
  return wrong;
}

/** The share of the ten nearest that the index finds. */
async function recall(db: Databases, base: LoadedBase): Promise<number> {
  let found = 0;
  for (let at = 0; at < questions; at += 1) {
    const asked = { word: 'w7', vector: questionVector(at), share: null, mode: 'vector', topK: 10 } as const;
    const exact = new Set(await searched(db, base, { ...asked, isExact: true }));
    const near = await searched(db, base, { ...asked, isExact: false });
    found += near.filter((id) => exact.has(id)).length / 10;
  }
  return found / questions;
}
