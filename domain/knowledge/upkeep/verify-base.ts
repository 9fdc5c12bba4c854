import { writeFindings, type NewFinding } from '../../../db/knowledge/upkeep/write-findings.ts';
import { findWrongCounters, findWrongTerms } from '../../../db/knowledge/upkeep/counts.ts';
import {
  derivedWithoutEvidence,
  findItemFaults,
  findOrphanChunks,
  findOrphanRelations,
  itemsWithOtherLexemes,
  nextItemIds,
  readChunkTexts,
  type ItemFault,
} from '../../../db/knowledge/upkeep/integrity.ts';
import type { MaintainedBase } from '../../../db/knowledge/bases/maintained-base.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { lex } from '../../../ports/chunking/lex.ts';
import { embeddedText, toTsvector } from '../items/index-item.ts';
import type { TaskBatch, TaskProgress } from './maintenance.ts';

/** Items of one batch. */
export const checkedAtOnce = 100;
/** Orphans of one batch. */
export const orphansAtOnce = 500;
/** The most terms that a finding names. */
const namedTerms = 100;

/** Fingerprints that join observations into one finding; a repair resolves findings by them. */
export const integrityPrints = {
  item: (id: string) => `item:${id}`,
  chunks: (itemId: string) => `chunks:${itemId}`,
  relation: (id: string) => `relation:${id}`,
  counters: 'counters',
  terms: 'terms',
} as const;

/**
 * Task `verify`: checks counters against the actual rows, chunks against the content of their items; finds chunks, vectors, terms and relations that are
 * missing or orphaned, and derived items without evidence. Writes findings and nothing else; a dry run counts them.
 */
export async function verifyStep(batch: TaskBatch): Promise<void> {
  const { stage } = batch.cursor;
  if (stage === null || stage === 'items') return verifyItems(batch);
  if (stage === 'orphans') return verifyOrphans(batch);
  return batch.commit(async (tx) => finish(batch, tx, { found: await numberFindings(tx, batch.base.id), next: null, done: 0 }));
}

async function verifyItems(batch: TaskBatch): Promise<void> {
  const { base, cursor, itemIds } = batch;
  await batch.commit(async (tx) => {
    const ids = await nextItemIds(tx, base.id, { after: cursor.after, ids: itemIds, limit: checkedAtOnce });
    const faults = await itemFaults(tx, base, ids);
    const bare = await derivedWithoutEvidence(tx, ids);
    const found = [
      ...faults.map((fault): NewFinding => ({
        kind: 'integrity',
        fingerprint: integrityPrints.item(fault.id),
        itemIds: [fault.id],
        detail: { faults: fault.faults },
      })),
      ...bare.map(({ id, version }): NewFinding => ({
        kind: 'low_evidence',
        fingerprint: `${id}:${version}`,
        itemIds: [id],
        detail: { reason: 'no_evidence' },
      })),
    ];
    return finish(batch, tx, { found, next: afterItems(batch, ids), done: ids.length });
  });
}

/** The orphans follow the last items, unless the run is limited to some items. */
export function afterItems({ itemIds }: Pick<TaskBatch, 'itemIds'>, ids: readonly string[]): TaskProgress['next'] {
  const last = ids.at(-1);
  if (last !== undefined && ids.length === checkedAtOnce) return { stage: 'items', after: last };
  return itemIds === null ? { stage: 'orphans', after: null } : null;
}

/** What is wrong with the index of live items that are not pending. */
export async function itemFaults(tx: TenantTransaction, base: MaintainedBase, ids: readonly string[]): Promise<ItemFault[]> {
  if (ids.length === 0) return [];
  const faults = await findItemFaults(tx, ids, base.embeddingModel !== 'none');
  const known = new Map(faults.map((fault) => [fault.id, fault]));
  const chunks = await readChunkTexts(tx, ids);
  const expected = chunks.map((chunk) => ({
    id: chunk.id,
    lexemes: toTsvector(lex(embeddedText(chunk), base.retrieval.language), base.lexNo),
  }));
  for (const id of await itemsWithOtherLexemes(tx, expected)) known.set(id, { id, faults: [...(known.get(id)?.faults ?? []), 'lexemes'] });
  return [...known.values()];
}

async function verifyOrphans(batch: TaskBatch): Promise<void> {
  const { base, cursor } = batch;
  await batch.commit(async (tx) => {
    const orphans = await findOrphanChunks(tx, base.id, { after: cursor.after, limit: orphansAtOnce });
    const found = orphans.map(({ itemId, chunks }): NewFinding => ({
      kind: 'orphan',
      fingerprint: integrityPrints.chunks(itemId),
      itemIds: [itemId],
      detail: { chunks },
    }));
    const last = orphans.at(-1);
    if (last !== undefined && orphans.length === orphansAtOnce)
      return finish(batch, tx, { found, next: { stage: 'orphans', after: last.itemId }, done: 0 });
    for (const id of await findOrphanRelations(tx, base.id, orphansAtOnce))
      found.push({ kind: 'orphan', fingerprint: integrityPrints.relation(id), itemIds: [], detail: { relation_id: id } });
    return finish(batch, tx, { found, next: { stage: 'numbers', after: null }, done: 0 });
  });
}

async function numberFindings(tx: TenantTransaction, kbId: string): Promise<NewFinding[]> {
  const counters = await findWrongCounters(tx, kbId);
  const terms = await findWrongTerms(tx, kbId);
  const orphans = terms.filter(({ actual }) => actual === null);
  const wrong = terms.filter(({ actual }) => actual !== null);
  const detail = (counts: typeof terms) => ({ count: counts.length, terms: counts.slice(0, namedTerms) });
  return [
    ...(counters.length > 0
      ? [{ kind: 'integrity', fingerprint: integrityPrints.counters, itemIds: [], detail: { counters } } as const]
      : []),
    ...(wrong.length > 0 ? [{ kind: 'integrity', fingerprint: integrityPrints.terms, itemIds: [], detail: detail(wrong) } as const] : []),
    ...(orphans.length > 0 ? [{ kind: 'orphan', fingerprint: integrityPrints.terms, itemIds: [], detail: detail(orphans) } as const] : []),
  ];
}

interface Checked extends TaskProgress {
  readonly found: readonly NewFinding[];
}

async function finish({ run }: TaskBatch, tx: TenantTransaction, { found, next, done }: Checked): Promise<TaskProgress> {
  const counts: Record<string, number> = {};
  for (const { kind } of found) counts[`${kind}_found`] = (counts[`${kind}_found`] ?? 0) + 1;
  const written = run.dryRun ? [] : await writeFindings(tx, run, found);
  return { next, done, counts: { ...counts, items_verified: done, findings: written.length } };
}
