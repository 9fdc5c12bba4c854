import { lockFindingItems, type FindingItem } from '../../../db/knowledge/upkeep/finding-items.ts';
import { findSummaries } from '../../../db/knowledge/upkeep/fact-groups.ts';
import { lockFinding } from '../../../db/knowledge/upkeep/findings.ts';
import type { MaintainedBase } from '../../../db/knowledge/bases/maintained-base.ts';
import { writeFindings, type NewFinding } from '../../../db/knowledge/upkeep/write-findings.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { printOf } from './dedupe.ts';
import type { TaskBatch } from './maintenance.ts';
import { resolveFinding } from './resolve-finding.ts';

/** Locks the standing summaries of a subject before a new one is written, so that locks are taken in one order. */
export async function lockSummaries(tx: TenantTransaction, kbId: string, subject: string): Promise<FindingItem[]> {
  const ids = await findSummaries(tx, kbId, subject);
  return ids.length === 0 ? [] : lockFindingItems(tx, kbId, ids);
}

interface Replacement {
  readonly base: MaintainedBase;
  /** The new summary. */
  readonly summary: { readonly id: string; readonly contentHash: string };
  /** Locked older summaries of the same subject. */
  readonly older: readonly FindingItem[];
}

/** The outcome for older summaries. */
export interface ReplacedSummaries {
  readonly summaries_superseded: number;
  readonly findings: number;
}

/**
 * Replaces the older summaries of a subject by a new one: each is a finding `duplicate`. A pending summary, which no curator has reviewed, is superseded at
 * once, which a person can undo; a summary that a curator has accepted stays until a person decides.
 */
export async function supersedeSummaries(
  { run, tools }: TaskBatch,
  tx: TenantTransaction,
  { base, summary, older }: Replacement,
): Promise<ReplacedSummaries> {
  const found = older.map((item): NewFinding => {
    const hashes = { [item.id]: item.contentHash, [summary.id]: summary.contentHash };
    return { kind: 'duplicate', fingerprint: printOf(hashes), itemIds: [item.id, summary.id], detail: { hashes, reason: 'newer_summary' } };
  });
  const open = await writeFindings(tx, run, found);
  const unread = new Set(older.filter(({ curationState }) => curationState === 'pending').map(({ id }) => id));
  let superseded = 0;
  for (const { id } of open) {
    const finding = await lockFinding(tx, id);
    if (finding === null || !finding.itemIds.some((itemId) => unread.has(itemId))) continue;
    const by = { kind: 'system', id: null } as const;
    const supersede = { action: 'supersede', keepItemId: summary.id, itemId: null, reason: 'newer_summary', by, now: tools.now() } as const;
    await resolveFinding(tx, { base, finding }, supersede);
    superseded += 1;
  }
  return { summaries_superseded: superseded, findings: open.length - superseded };
}
