import { createHash } from 'node:crypto';
import {
  findEqualItems,
  findNearItems,
  findOverlappingItems,
  readHashes,
  type DuplicatePair,
} from '../../../db/knowledge/upkeep/duplicates.ts';
import { lockFindingItems } from '../../../db/knowledge/upkeep/finding-items.ts';
import { lockFinding } from '../../../db/knowledge/upkeep/findings.ts';
import { writeFindings, type NewFinding } from '../../../db/knowledge/upkeep/write-findings.ts';
import { nextItemIds } from '../../../db/knowledge/upkeep/integrity.ts';
import type { MaintainedBase } from '../../../db/knowledge/bases/maintained-base.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { shareForWriting, type TaskBatch } from './maintenance.ts';
import { resolveFinding } from './resolve-finding.ts';

const atOnce = 50;
const rank: Readonly<Record<string, number>> = { promoted: 0, reviewed: 1, pending: 2 };

/**
 * Task `dedupe`: finds pairs of live items of equal content, then pairs at least as similar as the policy's threshold, by vectors or else by lexemes. Each pair
 * is a finding; with auto_merge it is merged at once: the item that is curated further, or else is older, gets the evidence of both and supersedes the other.
 */
export async function dedupeStep(batch: TaskBatch): Promise<void> {
  const { run, cursor, itemIds } = batch;
  await batch.commit(async (tx) => {
    const base = await shareForWriting(tx, run.kbId);
    const ids = await nextItemIds(tx, base.id, { after: cursor.after, ids: itemIds, limit: atOnce });
    const pairs = await findPairs(batch, tx, { base, ids });
    const found = await findingsOf(tx, pairs);
    const open = run.dryRun ? [] : await writeFindings(tx, run, found);
    let merged = 0;
    if (batch.policy.autoMerge) for (const { id } of open) merged += (await mergeNow(batch, tx, { base, findingId: id })) ? 1 : 0;
    const last = ids.at(-1);
    const next = last !== undefined && ids.length === atOnce ? { stage: null, after: last } : null;
    return { next, done: ids.length, counts: { duplicates_found: pairs.length, findings: open.length, merged } };
  });
}

interface Page {
  readonly base: MaintainedBase;
  readonly ids: readonly string[];
}

async function findPairs({ policy }: TaskBatch, tx: TenantTransaction, { base, ids }: Page): Promise<DuplicatePair[]> {
  if (ids.length === 0) return [];
  const wanted = { ids, threshold: policy.duplicateThreshold };
  const equal = await findEqualItems(tx, base.id, ids);
  const near = base.embeddingModel === 'none' ? await findOverlappingItems(tx, base.id, wanted) : await findNearItems(tx, base.id, wanted);
  return [...equal, ...near];
}

/** When the text of a pair changes, it becomes another finding. */
async function findingsOf(tx: TenantTransaction, pairs: readonly DuplicatePair[]): Promise<NewFinding[]> {
  if (pairs.length === 0) return [];
  const known = await readHashes(tx, [...new Set(pairs.flatMap(({ olderId, newerId }) => [olderId, newerId]))]);
  return pairs.map(({ olderId, newerId, score }) => {
    const hashes = { [olderId]: known[olderId] ?? '', [newerId]: known[newerId] ?? '' };
    return { kind: 'duplicate', fingerprint: printOf(hashes), itemIds: [olderId, newerId], score, detail: { hashes } };
  });
}

/** The fingerprint of an observation about items and their texts: equal fingerprints are one finding. */
export function printOf(hashes: Readonly<Record<string, string>>): string {
  const parts = Object.entries(hashes).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** Returns false when one of the two was merged before or has changed; the finding then stays for a person. */
async function mergeNow(
  { tools }: TaskBatch,
  tx: TenantTransaction,
  { base, findingId }: { readonly base: MaintainedBase; readonly findingId: string },
): Promise<boolean> {
  const finding = await lockFinding(tx, findingId);
  if (finding === null || finding.state !== 'open') return false;
  const items = await lockFindingItems(tx, base.id, finding.itemIds);
  const inOrder = items.toSorted((left, right) => (rank[left.curationState] ?? 9) - (rank[right.curationState] ?? 9));
  const [kept] = inOrder;
  if (!kept || items.length < 2 || items.some(({ curationState }) => rank[curationState] === undefined)) return false;
  const by = { kind: 'system', id: null } as const;
  await resolveFinding(
    tx,
    { base, finding },
    { action: 'merge', keepItemId: kept.id, itemId: null, reason: 'auto_merge', by, now: tools.now() },
  );
  return true;
}
