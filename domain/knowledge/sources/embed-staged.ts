import { followedTime } from '../../../db/database-clock.ts';
import { markReady, readIndexedBase, type IndexedBase } from '../../../db/knowledge/items/pending-items.ts';
import { pendingStaged } from '../../../db/knowledge/sources/sources.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { IngestInput } from '../../../workflows/contracts/knowledge/ingest.ts';
import type { EmbeddingDeps } from '../items/embed-texts.ts';
import { embedItems } from '../items/index-pending.ts';
import { endCancelled, lockIngest, setStage } from './ingest-run.ts';
import { isPausedTooLong, pauseRun } from '../runs/run-batches.ts';

/** The number of items that are embedded and committed at a time. */
const embeddedAtOnce = 64;

/** Reads the settings of a base that decide how its items are indexed; null when it is deleted or still being built. */
export function readIngestBase(tx: TenantTransaction, kbId: string): Promise<IndexedBase | null> {
  return readIndexedBase(tx, kbId);
}

/** How far the embedding of staged items is. */
export interface StagedProgress {
  /** Id of the last item with all its vectors; null: none yet. */
  readonly after: string | null;
  readonly signal: AbortSignal;
}

/**
 * Embeds the next staged items of a run, and returns the id of the last one; that ends a pause of the run. `done`: none is left; `ended`: the run has ended, or
 * was paused for its budget as long as it may be. Throws as `embedTexts` does.
 */
export async function embedStaged(
  deps: EmbeddingDeps,
  input: IngestInput,
  { after, signal }: StagedProgress,
): Promise<{ readonly after: string } | 'done' | 'ended'> {
  const next = await deps.transact(async (tx) => {
    const found = await lockIngest(tx, input);
    if (!found) return null;
    if (await isPausedTooLong(tx, found.run, followedTime(tx.em))) {
      await endCancelled(tx, found);
      return null;
    }
    if (found.source.state !== 'indexing') setStage(tx, found, 'indexing');
    const base = await readIndexedBase(tx, found.source.kbId);
    return base && { base, page: await pendingStaged(tx, input.runId, { after, limit: embeddedAtOnce }) };
  });
  if (next === null) return 'ended';
  const page = [...next.page];
  const last = page.at(-1);
  if (last === undefined) return 'done';
  await embedItems(deps, { base: next.base, page, signal, source: { kind: 'maintenance', id: input.runId } });
  await deps.transact(async (tx) => {
    const found = await lockIngest(tx, input);
    if (found?.run.status === 'paused') setStage(tx, found, 'indexing');
    await markReady(tx, page, { needsVectors: true });
  });
  return { after: last.id };
}

/** Pauses an ingestion until a budget of the paying workspace has room. Returns until when (ISO 8601), or null when the run has ended. */
export function pauseIngest(transact: EmbeddingDeps['transact'], input: IngestInput): Promise<string | null> {
  return transact(async (tx) => {
    const found = await lockIngest(tx, input);
    return found && pauseRun(tx, found.run, followedTime(tx.em));
  });
}
