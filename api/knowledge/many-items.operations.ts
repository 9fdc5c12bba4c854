import { creatorOf } from '../../db/actor-ref.ts';
import { requireBase, requireBaseOfItem } from '../../domain/knowledge/bases/base-rights.ts';
import type { ItemBase } from '../../db/knowledge/items/item-base.ts';
import { readItem } from '../../db/knowledge/items/items.ts';
import { createItems, type DraftOutcome, type ItemDraft } from '../../domain/knowledge/items/create-items.ts';
import { curateItem, curateItems } from '../../domain/knowledge/items/curation.ts';
import type { IndexPlan } from '../../domain/knowledge/items/index-plan.ts';
import { toItemRow } from '../../domain/knowledge/items/item-rules.ts';
import { Failure, invalid } from '../../workflows/contracts/failure.ts';
import { post, type AuditNote, type Ctx } from '../http/operation/operation.ts';
import { refuseBelowAdmin } from './admin.ts';
import { KnowledgeCurationView, KnowledgeItemCurate, KnowledgeItemsCurate, toKnowledgeCurationView } from './curation.schema.ts';
import { noteOfItem } from './item-notes.ts';
import { indexerOf, planBatch } from './item-plans.ts';
import {
  BaseItemsParams,
  ItemParams,
  KnowledgeItemBatchView,
  KnowledgeItemsCreate,
  KnowledgeItemView,
  toKnowledgeItemView,
  type KnowledgeItemsCreateBody,
} from './item.schema.ts';

/** Items by the hundred, and what curators do with them. */
export const manyItemsOperations = {
  createKnowledgeItems: post(
    '/knowledge-bases/{kb_id}/items/batch',
    {
      summary: 'Create many items',
      description: 'Creates up to 500 items independently: a failed item does not prevent the others from being created.',
      access: 'member',
      fails: ['not_found', 'resource_frozen'],
      audit: 'create',
      idempotent: true,
      maxBodyBytes: 8 * 1_024 * 1_024,
      success: [200],
      params: BaseItemsParams,
      body: KnowledgeItemsCreate,
      view: KnowledgeItemBatchView,
      identify: planBatch,
      example: { body: { items: [{ content: 'The office opens at nine.' }, { content: 'The office closes at six.' }] } },
    },
    async (ctx, { params, body, identified: plans }) => {
      const base = await requireBase(ctx, params.kb_id, { right: 'write', isLocked: true });
      const drafts = body.items.map((item, at) => draftOf(ctx, base, { item, at, plan: plans[at] }));
      const valid = drafts.filter((draft) => 'row' in draft);
      const request = { drafts: valid, onDuplicate: body.on_duplicate ?? 'return_existing', indexer: indexerOf(ctx.deps) };
      const outcomes = (await createItems(ctx, base, request)).values();

      const view = toBatchView(drafts.map((draft) => ('row' in draft ? toOutcome(outcomes.next().value) : draft)));
      ctx.audit(view.created === 0 ? null : noteOfMany(base, { created: { from: 0, to: view.created } }));
      return view;
    },
  ),

  curateKnowledgeItems: post(
    '/knowledge-bases/{kb_id}/items/curate',
    {
      summary: 'Curate many items',
      description:
        'Moves items to another state: the given items, or all that match a filter, at most 1,000. Items that cannot move to that state are left unchanged and listed.',
      access: 'admin',
      fails: ['not_found', 'resource_frozen'],
      audit: 'approve',
      idempotent: true,
      maxBodyBytes: 128 * 1_024,
      success: [200],
      params: BaseItemsParams,
      body: KnowledgeItemsCurate,
      view: KnowledgeCurationView,
      example: { body: { filter: { curation_state: 'pending', tag: 'support' }, curation_state: 'reviewed', dry_run: true } },
    },
    async (ctx, { params, body }) => {
      if ((body.item_ids === undefined) === (body.filter === undefined))
        throw invalid('/item_ids', 'required', 'Name either items or a filter, not both.');
      const base = await requireBase(ctx, params.kb_id, { right: 'curate', isLocked: true });
      const { curation_state: curationState, source_id: sourceId, ...rest } = body.filter ?? {};
      const isDryRun = body.dry_run ?? false;
      const result = await curateItems(ctx, base, {
        itemIds: body.item_ids ?? null,
        filter: { ...rest, curationState, sourceId },
        isDryRun,
        to: body.curation_state,
        supersededById: body.superseded_by_id ?? null,
      });

      const changes = { curation_state: { to: body.curation_state }, count: { to: result.changed }, ...reasonOf(body.reason) };
      ctx.audit(isDryRun || result.changed === 0 ? null : noteOfMany(base, changes));
      return toKnowledgeCurationView(result, isDryRun);
    },
  ),

  curateKnowledgeItem: post(
    '/knowledge-items/{item_id}/curate',
    {
      summary: 'Curate an item',
      description:
        'Moves an item from pending to reviewed to promoted, replaces it with another (superseded), or retires it and returns it to reviewed. Promoting requires the role admin.',
      access: 'member',
      fails: ['state_conflict', 'resource_frozen'],
      audit: 'approve',
      success: [200],
      params: ItemParams,
      body: KnowledgeItemCurate,
      view: KnowledgeItemView,
      example: { body: { curation_state: 'reviewed', reason: 'Checked against the contract' } },
    },
    async (ctx, { params, body }) => {
      const base = await requireBaseOfItem(ctx, params.item_id, { right: 'curate', isLocked: true });
      if (body.curation_state === 'promoted') refuseBelowAdmin(ctx.caller, base);
      const curation = { itemId: params.item_id, to: body.curation_state, supersededById: body.superseded_by_id ?? null };
      const from = await curateItem(ctx, base, curation);

      const row = await readItem(ctx, params.item_id);
      ctx.audit(noteOfItem(row, { curation_state: { from, to: body.curation_state }, ...reasonOf(body.reason) }));
      return toKnowledgeItemView(row);
    },
  ),
};

interface Outcome {
  readonly status: 'created' | 'existing' | 'failed';
  readonly item_id: string | null;
  readonly error: string | null;
}

/** The draft of an item, or its outcome where a rule refuses it. */
function draftOf(
  ctx: Ctx,
  base: ItemBase,
  {
    item,
    at,
    plan,
  }: { readonly item: KnowledgeItemsCreateBody['items'][number]; readonly at: number; readonly plan: IndexPlan | undefined },
): ItemDraft | Outcome {
  try {
    const from = { origin: 'human', createdBy: creatorOf(ctx.actor) } as const;
    return { row: toItemRow(item, from, { baseKind: base.kind, pointer: `/items/${at}` }), plan };
  } catch (error) {
    if (error instanceof Failure) return { status: 'failed', item_id: null, error: error.code };
    throw error;
  }
}

function toOutcome(outcome: DraftOutcome | undefined): Outcome {
  switch (outcome?.status) {
    case 'created':
      return { status: 'created', item_id: outcome.item.id, error: null };
    case 'existing':
      return { status: 'existing', item_id: outcome.itemId, error: null };
    case 'failed':
      return { status: 'failed', item_id: null, error: outcome.code };
    case undefined:
      throw new Error('each draft has its outcome');
    default:
      return outcome satisfies never;
  }
}

function toBatchView(outcomes: readonly Outcome[]) {
  const count = (status: Outcome['status']) => outcomes.filter((outcome) => outcome.status === status).length;
  return {
    created: count('created'),
    existing: count('existing'),
    failed: count('failed'),
    outcomes: outcomes.map(({ status, item_id, error }, index) => ({ index, status, item_id, error })),
  };
}

function noteOfMany({ id, organizationId, workspaceId }: ItemBase, changes: AuditNote['changes']): AuditNote {
  return { resourceType: 'knowledge_base', resourceId: id, organizationId, workspaceId, changes };
}

function reasonOf(reason: string | null | undefined): NonNullable<AuditNote['changes']> {
  return reason ? { reason: { from: null, to: reason } } : {};
}
