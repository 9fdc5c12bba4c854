import { findLiveRun } from '../../../db/knowledge/bases/bases.ts';
import type { KnowledgeBase, KnowledgeSubjectKind } from '../../../db/knowledge/bases/knowledge-base.entity.ts';
import type { KnowledgeRun } from '../../../db/knowledge/runs/knowledge-run.entity.ts';
import type { KnowledgeRunKind } from '../../../workflows/contracts/knowledge/runs.ts';
import { itemsOfBase, type PurgeTarget } from '../../../db/knowledge/upkeep/purge-items.ts';
import { readPolicy } from '../../../db/knowledge/bases/maintained-base.ts';
import type { Changing } from '../../../db/scope.ts';
import { fail, invalid } from '../../../workflows/contracts/failure.ts';
import { subjectIdOf } from '../bases/base-owners.ts';
import { seeBaseForChange } from '../bases/bases.ts';
import { startKnowledgeRun } from '../runs/runs.ts';

export const purgeModes = ['tombstones', 'items', 'subject', 'all'] as const;

/** The parameters of a purge, with the names of the code. */
export interface PurgeRequest {
  /** The base's slug, so that no caller purges another base by mistake. */
  readonly confirm: string;
  readonly mode: (typeof purgeModes)[number];
  readonly itemIds?: readonly string[];
  readonly subject?: { readonly kind: KnowledgeSubjectKind; readonly id: string };
  readonly olderThanDays?: number;
}

/**
 * Starts the purge of a base, for callers who manage it and admins of its row scope; of a frozen base too. `all` freezes it at once.
 * @throws 404; 403 without the right, and below operator for a superseded base; 422 for another slug, for members that the mode does not have, for ids that are
 * no items of the base; 409 `reembed_in_progress`, `run_in_progress`; 423 in a frozen workspace or organization
 */
export async function startPurge(
  ctx: Changing,
  kbId: string,
  { request, currency, now }: { readonly request: PurgeRequest; readonly currency: string; readonly now: Date },
): Promise<KnowledgeRun> {
  const { base, before } = await seeBaseForChange(ctx, kbId, { need: 'grant' });
  if (base.successorId !== null && ctx.caller.role !== 'operator')
    throw fail('resource_forbidden', {
      reason: 'superseded',
      detail: 'Only an operator can purge a superseded knowledge base.',
    });
  if (request.confirm !== base.slug) throw invalid('/confirm', 'const', 'must be the slug of the knowledge base');
  const target = await targetOf(ctx, base, { request, now });
  if (base.activatedAt === null || before.reembedRunId !== null) throw fail('state_conflict', { reason: 'reembed_in_progress' });
  await refuseLiveRuns(ctx, base.id);

  if (target.mode === 'all') base.isFrozen = true;
  return startKnowledgeRun(ctx, base, { kind: 'purge', currency, params: { ...target } });
}

/** Throws 409 `run_in_progress` while a run works on a base; `kinds`: only runs of these kinds. */
export async function refuseLiveRuns(ctx: Pick<Changing, 'em'>, kbId: string, kinds?: readonly KnowledgeRunKind[]): Promise<void> {
  const run = await findLiveRun(ctx, kbId, kinds);
  if (run)
    throw fail('state_conflict', {
      reason: 'run_in_progress',
      detail: 'A run is working on this knowledge base.',
      context: { run_id: run.id },
    });
}

async function targetOf(
  ctx: Changing,
  base: KnowledgeBase,
  { request, now }: { readonly request: PurgeRequest; readonly now: Date },
): Promise<PurgeTarget> {
  const { mode, itemIds, subject, olderThanDays } = request;
  if (itemIds !== undefined && mode !== 'items') throw invalid('/item_ids', 'mode', 'is only allowed with mode items');
  if (subject !== undefined && mode !== 'subject') throw invalid('/subject_kind', 'mode', 'is only allowed with mode subject');
  if (olderThanDays !== undefined && mode !== 'tombstones')
    throw invalid('/older_than_days', 'mode', 'is only allowed with mode tombstones');
  switch (mode) {
    case 'tombstones': {
      const days = olderThanDays ?? (await readPolicy(ctx, base.id)).retentionDays;
      return { mode, deletedBefore: new Date(now.getTime() - days * 86_400_000).toISOString() };
    }
    case 'items':
      return { mode, itemIds: await ownItems(ctx, base.id, itemIds ?? []) };
    case 'subject': {
      if (subject === undefined) throw invalid('/subject_id', 'required', 'is required with mode subject');
      const subjectId = subjectIdOf(subject.kind, subject.id);
      const isWhole = base.subjectKind === subject.kind && base.subjectId === subjectId;
      return { mode, subjectKind: subject.kind, subjectId, isWhole };
    }
    case 'all':
      return { mode };
    default:
      return mode satisfies never;
  }
}

async function ownItems(ctx: Changing, kbId: string, itemIds: readonly string[]): Promise<string[]> {
  if (itemIds.length === 0) throw invalid('/item_ids', 'required', 'is required with mode items');
  const known = await itemsOfBase(ctx, kbId, itemIds);
  const unknownAt = itemIds.findIndex((id) => !known.has(id));
  if (unknownAt >= 0)
    throw invalid(`/item_ids/${unknownAt}`, 'reference', 'The item does not exist in this base.', { kind: 'knowledge_item' });
  return [...known];
}
