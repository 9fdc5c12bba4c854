import { applyCounts, emptyChange, removeChunks } from '../../../db/knowledge/bases/base-counters.ts';
import type { KnowledgeSourceWarning } from '../../../db/knowledge/sources/knowledge-source.entity.ts';
import { shareIndexedBase, type IndexedBase } from '../../../db/knowledge/items/pending-items.ts';
import {
  countSourceItems,
  countStaged,
  findSuspects,
  publishStaged,
  softDelete,
  uncutStaged,
} from '../../../db/knowledge/sources/staged-items.ts';
import { replacedItems, settleTwins } from '../../../db/knowledge/sources/twins.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { endRead, type IngestAtWork } from './ingest-run.ts';
import { requestPending } from '../items/request-pending.ts';
import { extractorOf } from './sources.ts';

const deletedAtOnce = 1_000;

/** What a sync publishes about its source. */
export interface Published {
  readonly contentHash: string;
  readonly mediaType: string | null;
  readonly title: string | null;
  readonly warnings: readonly KnowledgeSourceWarning[];
}

/**
 * Replaces the source's items by the staged items of a run, in one transaction of the caller: where the text is equal the old item stays, other old items are
 * deleted. Returns false when the base was frozen, deleted or reconfigured meanwhile.
 */
export async function publishItems(
  tx: TenantTransaction,
  { source, run }: IngestAtWork,
  { base, published }: { readonly base: IndexedBase; readonly published: Published },
): Promise<boolean> {
  if (!(await shareIndexedBase(tx, base))) return false;
  const staging = { sourceId: source.id, runId: run.id };
  const changes = emptyChange();
  const replaced = await replacedItems(tx, staging);
  for (let at = 0; at < replaced.length; at += deletedAtOnce) {
    const ids = replaced.slice(at, at + deletedAtOnce).map(({ id }) => id);
    await removeChunks(tx, ids, changes);
    await softDelete(tx, ids);
  }
  for (const { state } of replaced) changes.states[state] -= 1;
  const kept = await settleTwins(tx, staging);
  const findings = await findSuspects(tx, base.id, run.id);
  await requestPending(tx, base, await uncutStaged(tx, run.id));
  const added = await countStaged(tx, run.id);
  for (const state of ['pending', 'reviewed'] as const) changes.states[state] += added.states[state] ?? 0;
  changes.chunks += added.chunks;
  changes.tokens += added.tokens;
  changes.lexLen += added.lexLen;
  await publishStaged(tx, base, { runId: run.id, removed: changes.terms });

  const { items, chunks, tokens } = await countSourceItems(tx, source.id);
  Object.assign(source, {
    ...published,
    title: source.title ?? published.title,
    extractor: extractorOf(base),
    itemCount: items,
    chunkCount: chunks,
    tokenCount: tokens,
  });
  run.counts = { items, added: items - kept, kept, removed: replaced.length, chunks, findings };
  await endRead(tx, { source, run });
  await applyCounts(tx, base, changes);
  return true;
}
