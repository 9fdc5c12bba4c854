import type { RunError } from '../../db/knowledge/runs/write-runs.ts';
import type { Readable } from 'node:stream';
import { readSourceBytes } from '../../db/knowledge/sources/sources.ts';
import {
  isFault,
  toBundleRow,
  type BundleItem,
  type BundleRow,
  type BundleSource,
  type BundleVectors,
} from '../../domain/knowledge/transfer/bundle-rows.ts';
import {
  emptyMemory,
  endRows,
  idOfLine,
  landGroup,
  landSuccessors,
  readImportBase,
  relearn,
  rowError,
  type ImportCursor,
  type ImportGroup,
  type ImportWork,
  type Placed,
} from '../../domain/knowledge/transfer/import-group.ts';
import { prepareImport } from '../../domain/knowledge/transfer/import-items.ts';
import { moveOn } from '../../domain/knowledge/runs/run-batches.ts';
import { BundleError, checkBundle, parseRecord, readLines, type BundleLine } from '../../ports/parsing/knowledge-bundle.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { readAsSystem } from '../support/as-system.ts';
import type { BatchOutcome, RunBatch } from './run-activities.ts';

/** Maximum rows per transaction, and maximum bytes beyond the first row. */
const rowsAtOnce = 100;
const bytesAtOnce = 1_000_000;
/** A pass ends after this time: the next one finds the rows that it created by their ids. */
const passMs = 240_000;

/**
 * Checks a bundle from end to end, then writes its rows, a hundred at a time, each with its line number: after a killed try the next one continues behind the
 * last line, and finds what was created before by ids that derive from run and line.
 */
export async function importBatch(batch: RunBatch): Promise<BatchOutcome> {
  const cursor = (batch.run.cursor ?? { stage: 'check', line: 0, total: 0 }) as unknown as ImportCursor; // written only by this file
  if (cursor.stage === 'done') return { result: { ...batch.run.counts, dry_run: batch.run.dryRun } };
  if (cursor.stage === 'check') await check(batch);
  else await importRows(batch, cursor);
  return 'more';
}

async function open({ run, deps }: RunBatch): Promise<Readable> {
  const { attachmentId } = run;
  const bytes = attachmentId === null ? null : await readAsSystem(deps, (tx) => readSourceBytes(tx, attachmentId));
  if (bytes === null) throw fail('not_found', { detail: 'The file of the import no longer exists.' });
  return deps.storage.open(bytes.storageKey);
}

async function check(batch: RunBatch): Promise<void> {
  try {
    const { lines } = await checkBundle(await open(batch));
    await batch.commit(async (_, run) =>
      moveOn(run, { stage: 'rows', done: 0, total: lines - 1, cursor: { stage: 'rows', line: 1, total: lines } }),
    );
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    throw fail('validation_failed', {
      reason: error.code,
      detail: `${error.message} (line ${error.line}, byte ${error.offset})`,
      cause: error,
    });
  }
}

/** A row with its size in bytes. */
interface ReadRow extends Placed<BundleRow> {
  readonly bytes: number;
}

/** Rows since the last commit, and the errors of others. */
interface Pending {
  rows: ReadRow[];
  errors: RunError[];
  bytes: number;
  line: number;
}

async function importRows(batch: RunBatch, cursor: ImportCursor): Promise<void> {
  const work = await openImport(batch);
  const until = performance.now() + passMs;
  let pending: Pending = { rows: [], errors: [], bytes: 0, line: 1 };
  const flush = async () => {
    const group = pending;
    pending = { rows: [], errors: [], bytes: 0, line: group.line };
    if (group.line <= cursor.line) await relearnRows(batch, work, group.rows);
    else if (group.rows.length + group.errors.length > 0) await writeRows(batch, work, { group, total: cursor.total });
  };
  for await (const line of readLines(await open(batch))) {
    if (line.line === 1 || line.line > cursor.total) continue;
    batch.signal.throwIfAborted();
    const isFollower = pending.rows.length > 0 && startsVectors(line);
    if (!isFollower && (isFull(pending) || line.line === cursor.line + 1)) {
      await flush();
      if (performance.now() > until && line.line > cursor.line + 1) return;
    }
    take(pending, line);
  }
  await flush();
  await finish(batch, work);
}

function isFull({ rows, errors, bytes }: Pending): boolean {
  return rows.length + errors.length >= rowsAtOnce || bytes >= bytesAtOnce;
}

/** Vectors stay with the item before them. */
function startsVectors({ bytes }: BundleLine): boolean {
  return bytes.subarray(0, 40).includes('"vectors"');
}

function take(pending: Pending, { line, offset, bytes }: BundleLine): void {
  const row = toBundleRow(parseRecord(bytes));
  pending.line = line;
  pending.bytes += bytes.byteLength;
  if (isFault(row)) pending.errors.push(rowError({ line, offset }, row.code, row.detail));
  else pending.rows.push({ row, line, offset, bytes: bytes.byteLength });
}

async function openImport({ run, deps, signal }: RunBatch): Promise<ImportWork> {
  const base = await readAsSystem(deps, (tx) => readImportBase(tx, run.kbId));
  const { mode, keepState, includeGrants } = run.params;
  const rules = {
    mode: mode === 'upsert' ? 'upsert' : 'create',
    isDryRun: run.dryRun,
    keepState: keepState === true,
    createdBy: run.requestedBy,
  } as const;
  return { run, base, rules, includeGrants: includeGrants === true, indexer: { embedder: deps.embedder, signal }, memory: emptyMemory() };
}

async function relearnRows({ deps }: RunBatch, work: ImportWork, rows: readonly ReadRow[]): Promise<void> {
  const { sources, items } = sorted(rows);
  await readAsSystem(deps, (tx) => relearn(tx, work, { sources, items }));
}

/** Groups rows by type; `vectors` by the item that they follow. */
function sorted(rows: readonly ReadRow[]) {
  const of = <Type extends BundleRow['type']>(type: Type) =>
    rows.filter((placed): placed is ReadRow & { readonly row: Extract<BundleRow, { type: Type }> } => placed.row.type === type);
  const vectors = new Map<string, BundleVectors>(of('vectors').map(({ row }) => [row.item_id, row]));
  const sources: readonly Placed<BundleSource>[] = of('source');
  const items: readonly Placed<BundleItem>[] = of('item');
  return { sources, items, relations: of('relation'), grants: of('grant'), vectors };
}

async function writeRows(
  batch: RunBatch,
  work: ImportWork,
  { group, total }: { readonly group: Pending; readonly total: number },
): Promise<void> {
  const { sources, items, relations, grants, vectors } = sorted(group.rows);
  // Rows of one group refer to each other.
  for (const { row, line } of items)
    if (row.id !== undefined && !work.memory.itemIds.has(row.id)) work.memory.itemIds.set(row.id, idOfLine(work.run, line));
  for (const { row, line } of sources) if (!work.memory.sourceIds.has(row.id)) work.memory.sourceIds.set(row.id, idOfLine(work.run, line));
  const { base, memory, run, rules, indexer } = work;
  const prepared: ImportGroup['items'][number][] = [];
  for (const placed of items) {
    const { row, line } = placed;
    const sourceId = memory.sourceIds.get(row.source_id ?? '') ?? null;
    const item = { row, newId: idOfLine(run, line), sourceId, itemIds: memory.itemIds, vectors: vectors.get(row.id ?? '') ?? null };
    prepared.push({ ...placed, prepared: await prepareImport(base, item, { rules, indexer }) });
  }
  const step = { group: { sources, items: prepared, relations, grants }, errors: group.errors, line: group.line, total };
  await batch.commit((tx, locked) => landGroup(tx, locked, { work, step }));
}

const linkedAtOnce = 1_000;

/** Resolves references that had to wait until all rows were stored, updates the counts of sources, and writes the audit entry. */
async function finish({ commit }: RunBatch, { base, memory, rules }: ImportWork): Promise<void> {
  const pairs = memory.successors.flatMap(([id, old]): [string, string][] => {
    const successor = memory.itemIds.get(old);
    return successor === undefined || successor === id ? [] : [[id, successor]];
  });
  for (let at = 0; at < pairs.length && rules.keepState && !rules.isDryRun; at += linkedAtOnce)
    await commit((tx) => landSuccessors(tx, base.id, pairs.slice(at, at + linkedAtOnce)));
  await commit((tx, run) => endRows(tx, run, { base, memory }));
}
