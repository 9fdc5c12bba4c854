import { setImmediate as nextTurn } from 'node:timers/promises';
import { emptyChange } from '../../../db/knowledge/bases/base-counters.ts';
import { insertStagedItems, type NewItemRow } from '../../../db/knowledge/items/insert-items.ts';
import { shareIndexedBase, type IndexedBase } from '../../../db/knowledge/items/pending-items.ts';
import { countFreeTwins, twinKey } from '../../../db/knowledge/sources/twins.ts';
import type { Embedder } from '../../../ports/embeddings/index.ts';
import type { ParsedPart } from '../../../ports/parsing/parsed.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { IngestInput } from '../../../workflows/contracts/knowledge/ingest.ts';
import { embedPrepared, indexColumnsOf, prepareIndex, writeIndex, type IndexedItem } from '../items/index-item.ts';
import { lockIngest, type Transact } from './ingest-run.ts';
import { toStagedRow, type StagedRow, type StagedSource } from './staged-row.ts';

export interface StagingJob {
  readonly base: IndexedBase;
  readonly source: StagedSource;
  readonly input: IngestInput;
  readonly embedder: Embedder;
  readonly signal: AbortSignal;
  /** Receives one sentence about each omitted part. */
  readonly onFault: (detail: string) => void;
}

/** Writes the parts of a file as staged items, a batch at a time. */
export interface Stager {
  /** Adds the next part. When it completes a batch, waits until the batch is chunked; while the batch is written the next one may be chunked. */
  add(part: ParsedPart): Promise<void>;
  /** Waits until everything is written; returns the number of staged items. */
  finish(): Promise<number>;
  /** Waits until no write is under way, whatever its outcome. */
  settle(): Promise<void>;
}

/** The parts, or characters, that one transaction stages. Two batches are in memory at a time, with vectors several times as large as their texts. */
const partsAtOnce = 250;
const charsAtOnce = 100_000;

/**
 * Stages parts with their chunks, each batch in its own transaction; a part whose text a live item of the source already has, on the same pages, gets no
 * chunks. A batch is chunked and lexed before its transaction, while the preceding batch is written, and gets its vectors then if they cost no more than that.
 * A JSON element whose fields do not fit an item is omitted. Methods throw 409 `changed_since` when base or run have changed.
 */
export function createStager(transact: Transact, job: StagingJob): Stager {
  let parts: ParsedPart[] = [];
  let chars = 0;
  let staged = 0;
  let writing: { readonly rows: readonly NewItemRow[]; readonly done: Promise<void> } = { rows: [], done: Promise.resolve() };

  async function stage(): Promise<void> {
    const taken = parts;
    parts = [];
    chars = 0;
    const rows = taken.flatMap((part) => rowOrFault(part, job));
    const batch = await prepareBatch(job, await draftsOf(transact, job, { rows, beingWritten: writing.rows }));
    await writing.done;
    writing = { rows: batch.items, done: writeBatch(transact, job, batch) };
    writing.done.catch(() => undefined); // thrown where it is awaited
    staged += batch.items.length;
  }
  return {
    async add(part) {
      parts.push(part);
      chars += part.content.length;
      if (parts.length >= partsAtOnce || chars >= charsAtOnce) await stage();
    },
    async finish() {
      if (parts.length > 0) await stage();
      await writing.done;
      return staged;
    },
    settle: () => writing.done.catch(() => undefined),
  };
}

function rowOrFault(part: ParsedPart, { source, onFault }: StagingJob): StagedRow[] {
  const row = toStagedRow(part, source);
  if (!('fault' in row)) return [row];
  onFault(row.fault);
  return [];
}

interface Draft {
  readonly row: StagedRow;
  /** A live item of the source is the same passage. */
  readonly hasTwin: boolean;
}

interface Batch {
  readonly items: readonly NewItemRow[];
  readonly indexed: readonly IndexedItem[];
}

async function prepareBatch({ base, embedder, signal }: StagingJob, drafts: readonly Draft[]): Promise<Batch> {
  const isEmbedded = embedder.find(base.embeddingModel)?.isCached === false;
  const items: NewItemRow[] = [];
  const indexed: IndexedItem[] = [];
  for (const { row, hasTwin } of drafts) {
    if (hasTwin) {
      items.push({ ...row, tokenCount: 0, chunkCount: 0, indexState: 'ready' });
      continue;
    }
    await nextTurn();
    signal.throwIfAborted();
    const cut = prepareIndex(base, row, embedder);
    const prepared = isEmbedded ? await embedPrepared(cut, { embedder, model: base.embeddingModel, signal }) : cut;
    items.push({ ...row, ...indexColumnsOf(prepared) });
    indexed.push({ itemId: row.id, prepared });
  }
  return { items, indexed };
}

async function writeBatch(transact: Transact, { base, input }: StagingJob, { items, indexed }: Batch): Promise<void> {
  await transact(async (tx) => {
    const found = await lockIngest(tx, input);
    if (!found || !(await shareIndexedBase(tx, base)))
      throw fail('state_conflict', { reason: 'changed_since', detail: 'The base or the source has changed.' });
    await insertStagedItems(tx, base, { items, runId: input.runId });
    await writeIndex(tx, base, { items: indexed, changes: emptyChange() }); // counted when they are published
  });
}

interface DraftedRows {
  readonly rows: readonly StagedRow[];
  /** Rows of the preceding batch, which the transaction may or may not see. */
  readonly beingWritten: readonly NewItemRow[];
}

/** A source that was never published has no live items. */
async function draftsOf(transact: Transact, { base, source, input }: StagingJob, { rows, beingWritten }: DraftedRows): Promise<Draft[]> {
  if (source.lastSyncedAt === null) return rows.map((row) => ({ row, hasTwin: false }));

  const hashes = rows.map((row) => row.contentHash);
  const staging = { ...input, kbId: base.id, exceptIds: beingWritten.map(({ id }) => id) };
  const free = await transact((tx) => countFreeTwins(tx, staging, hashes));
  const take = (row: Pick<NewItemRow, 'contentHash' | 'pages'>) => {
    const key = twinKey(row);
    const twins = free.get(key) ?? 0;
    free.set(key, twins - 1);
    return twins > 0;
  };
  beingWritten.forEach(take);
  return rows.map((row) => ({ row, hasTwin: take(row) }));
}
