import { writeAudit } from '../../../db/audit/audit.ts';
import { forgetReplies } from '../../../db/http/idempotency.ts';
import type { KnowledgeRun } from '../../../db/knowledge/runs/knowledge-run.entity.ts';
import { readPolicy } from '../../../db/knowledge/bases/maintained-base.ts';
import { countPurged, takesAll, type PurgeTarget } from '../../../db/knowledge/upkeep/purge-items.ts';
import {
  emptyFindings,
  emptyQuotes,
  predecessorsWithItems,
  removeBase,
  removeFindings,
  removeNextSource,
  removeRunFiles,
  removeTerms,
} from '../../../db/knowledge/upkeep/purge-rest.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { endSchedule } from '../bases/policies.ts';
import { purgePage, type PurgedBase, type PurgePage } from './purge-batch.ts';
import { countOnRun, moveOn } from '../runs/run-batches.ts';

/** The stages of a purge, in order; each begins when nothing of the preceding one is left. */
const stages = ['items', 'sources', 'files', 'findings', 'quotes', 'base', 'done'] as const;
export type PurgeStage = (typeof stages)[number];

/** How far a purge is. */
export interface PurgeCursor {
  readonly stage: PurgeStage;
  /** The last item that the stage has processed. */
  readonly after: string | null;
  /** Superseded bases in which copies were found. */
  readonly copiesIn: readonly string[];
}

/** One batch of a purge: its run, which the caller has locked, and what it works on. */
export interface PurgeStep {
  readonly run: KnowledgeRun;
  readonly base: PurgedBase;
  readonly target: PurgeTarget;
  readonly cursor: PurgeCursor;
}

/** Where the next batch of a purge begins. */
export function purgeCursorOf({ cursor }: Pick<KnowledgeRun, 'cursor'>): PurgeCursor {
  return (cursor ?? { stage: 'items', after: null, copiesIn: [] }) as unknown as PurgeCursor; // written by this file alone
}

/** How many items a purge will remove; counted only the first time. */
export async function purgeTotal(
  tx: TenantTransaction,
  base: PurgedBase,
  { run, target }: { readonly run: Pick<KnowledgeRun, 'progress'>; readonly target: PurgeTarget },
): Promise<number> {
  return run.progress.total ?? countPurged(tx, base.id, target);
}

/** Removes a page of items; null: none is left, and the next stage begins. */
export async function purgeItems(
  tx: TenantTransaction,
  { run, base, target, cursor }: PurgeStep,
  { page, total }: { readonly page: PurgePage | null; readonly total: number },
): Promise<void> {
  if (page === null) return advance(run, cursor);
  const purged = await purgePage(tx, base, { page, target });
  countOnRun(run, purged.counts);
  const copiesIn = [...new Set([...cursor.copiesIn, ...purged.copiesIn])];
  const done = run.counts['items'] ?? 0;
  moveOn(run, { stage: 'items', done, total: Math.max(total, done), cursor: { ...cursor, after: page.last, copiesIn } });
}

/** Removes a source with its files. Returns the keys of their bytes, which are removed after the commit. */
export async function purgeSources(tx: TenantTransaction, { run, base, target, cursor }: PurgeStep): Promise<readonly string[]> {
  const deletedBefore = target.mode === 'tombstones' ? target.deletedBefore : null;
  const removed = await removeNextSource(tx, { kbId: base.id, isAll: takesAll(target), deletedBefore });
  if (removed === null) {
    advance(run, cursor);
    return [];
  }
  await forgetReplies(tx, [removed.sourceId]);
  countOnRun(run, { sources: removed.removed, files: removed.keys.length });
  return removed.keys;
}

/** Removes exports and imported bundles. Returns the keys of their bytes. */
export async function purgeFiles(tx: TenantTransaction, { run, base, cursor }: PurgeStep): Promise<readonly string[]> {
  const removed = await removeRunFiles(tx, base.id);
  countOnRun(run, { files: removed.length });
  advance(run, cursor);
  return removed;
}

/** Removes findings, or the contents of findings about removed items. */
export async function purgeFindings(tx: TenantTransaction, { run, base, target, cursor }: PurgeStep): Promise<readonly string[]> {
  const n = takesAll(target) ? await removeFindings(tx, base.id) : await emptyFindings(tx, base.id, { kind: 'system', id: null });
  countOnRun(run, { findings: n });
  if (n === 0) advance(run, cursor);
  return [];
}

/** Removes quotes of removed items from the evidence of other items. */
export async function purgeQuotes(tx: TenantTransaction, { run, base, cursor }: PurgeStep): Promise<readonly string[]> {
  const { looked, last, changed } = await emptyQuotes(tx, base.id, cursor.after);
  countOnRun(run, { quotes: changed });
  if (looked === 0) advance(run, cursor);
  else moveOn(run, { stage: 'quotes', done: run.progress.done, total: run.progress.total, cursor: { ...cursor, after: last } });
  return [];
}

/** Removes the base when all of it is purged, after the items that arrived during the purge. Ends with an audit entry. */
export async function purgeBase(tx: TenantTransaction, { run, base, target, cursor }: PurgeStep): Promise<readonly string[]> {
  if (takesAll(target) && (await removeTerms(tx, base.id)) > 0) return [];
  if (target.mode === 'all') {
    const policy = await readPolicy(tx, base.id);
    if (!(await removeBase(tx, base.id))) {
      run.cursor = { ...cursor, stage: 'items', after: null };
      return [];
    }
    await endSchedule(tx, base, policy);
  }
  if (target.mode === 'all') await forgetReplies(tx, [base.id]);
  const copiesIn = target.mode === 'all' ? await predecessorsWithItems(tx, base.id) : cursor.copiesIn;
  advance(run, { ...cursor, copiesIn });
  await recordCounts(tx, base, { run, mode: target.mode });
  return [];
}

/** Writes an audit entry of what was removed: numbers alone. */
async function recordCounts(
  tx: TenantTransaction,
  base: PurgedBase,
  { run, mode }: { readonly run: KnowledgeRun; readonly mode: PurgeTarget['mode'] },
): Promise<void> {
  const { organizationId, workspaceId } = base;
  const changes = { mode: { to: mode }, run_id: { to: run.id }, counts: { to: run.counts } };
  const note = { resourceType: 'knowledge_base', resourceId: base.id, organizationId, workspaceId, changes };
  await writeAudit(tx, { action: 'purge', operationId: null, note, ip: null, userAgent: null });
}

function advance(run: KnowledgeRun, { stage, copiesIn }: PurgeCursor): void {
  const next = stages[stages.indexOf(stage) + 1] ?? 'done';
  moveOn(run, { stage: next, done: run.progress.done, total: run.progress.total, cursor: { stage: next, after: null, copiesIn } });
}
