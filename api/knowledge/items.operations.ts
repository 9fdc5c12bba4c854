import { creatorOf } from '../../db/actor-ref.ts';
import { forgetReplies } from '../../domain/http/idempotency.ts';
import { requireBase, requireBaseOfItem } from '../../domain/knowledge/bases/base-rights.ts';
import { listItemChunkRows, listItemRows, listItemVersionRows, readItem } from '../../db/knowledge/items/items.ts';
import { mapPage } from '../../db/page.ts';
import { createItem } from '../../domain/knowledge/items/create-items.ts';
import { toItemRow } from '../../domain/knowledge/items/item-rules.ts';
import { deleteItem, restoreItem, seeItemForChange } from '../../domain/knowledge/items/items.ts';
import { updateItem } from '../../domain/knowledge/items/update-item.ts';
import { get, list, patch, post, remove, reply } from '../http/operation/operation.ts';
import { isAdminOf, refuseBelowAdmin } from './admin.ts';
import { noteOfItem } from './item-notes.ts';
import { indexerOf, planCreate, planUpdate } from './item-plans.ts';
import {
  BaseItemsParams,
  ItemFilters,
  ItemParams,
  KnowledgeChunkView,
  KnowledgeItemCreate,
  KnowledgeItemUpdate,
  KnowledgeItemVersionView,
  KnowledgeItemView,
  toKnowledgeChunkView,
  toKnowledgeItemVersionView,
  toKnowledgeItemView,
} from './item.schema.ts';

const maxBodyBytes = 2 * 1_024 * 1_024;

/** Items one by one: what they say, their versions and their parts. */
export const itemOperations = {
  listKnowledgeItems: list(
    '/knowledge-bases/{kb_id}/items',
    {
      summary: 'List items',
      description: 'Items of a base, newest first. q searches their titles. A page ends early at 4 MiB of content.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      params: BaseItemsParams,
      query: ItemFilters,
      view: KnowledgeItemView,
    },
    async (ctx, { params, query }) => {
      const base = await requireBase(ctx, params.kb_id, { right: 'read' });
      if (query.include_deleted) refuseBelowAdmin(ctx.caller, base);
      const { curation_state: curationState, source_id: sourceId, valid_at: validAt, kind, origin, tag, q } = query;
      const filters = { kbId: base.id, curationState, sourceId, validAt, kind, origin, tag, q };
      const includeDeleted = query.include_deleted ? true : undefined;
      return mapPage(await listItemRows(ctx, { ...filters, includeDeleted }, ctx.page), toKnowledgeItemView);
    },
  ),

  createKnowledgeItem: post(
    '/knowledge-bases/{kb_id}/items',
    {
      summary: 'Create an item',
      description:
        'Creates and indexes an item. If a live item of the base has this content or external id, on_duplicate determines the result: 200 with that item, 409, or another item with the same content.',
      access: 'member',
      mcp: true,
      fails: ['not_found', 'already_exists', 'resource_frozen'],
      audit: 'create',
      idempotent: true,
      maxBodyBytes,
      success: [201, 200],
      location: (view: { readonly id: string }) => `/knowledge-items/${view.id}`,
      params: BaseItemsParams,
      body: KnowledgeItemCreate,
      view: KnowledgeItemView,
      identify: planCreate,
      example: { body: { title: 'Refunds', content: 'Refunds up to 50 EUR need no approval.', tags: ['support'] } },
    },
    async (ctx, { params, body: { on_duplicate: onDuplicate, ...item }, identified: plan }) => {
      const base = await requireBase(ctx, params.kb_id, { right: 'write', isLocked: true });
      const from = { origin: 'human', createdBy: creatorOf(ctx.actor) } as const;
      const draft = { row: toItemRow(item, from, { baseKind: base.kind, pointer: '' }), plan };
      const created = await createItem(ctx, base, { draft, onDuplicate: onDuplicate ?? 'return_existing', indexer: indexerOf(ctx.deps) });

      ctx.audit(created.isNew ? noteOfItem(created.item) : null);
      return reply(toKnowledgeItemView(created.item), { status: created.isNew ? 201 : 200 });
    },
  ),

  getKnowledgeItem: get(
    '/knowledge-items/{item_id}',
    {
      summary: 'Read an item',
      description: 'Returns one item at its current version.',
      access: 'viewer',
      mcp: true,
      etag: true,
      params: ItemParams,
      view: KnowledgeItemView,
    },
    async (ctx, { params }) => {
      await requireBaseOfItem(ctx, params.item_id, { right: 'read' });
      const row = await readItem(ctx, params.item_id);
      return reply(toKnowledgeItemView(row), { version: row.rowVersion });
    },
  ),

  updateKnowledgeItem: patch(
    '/knowledge-items/{item_id}',
    {
      summary: 'Change an item',
      description:
        'Changes the fields that are sent and keeps the rest. Changing content, title, tags or metadata creates a new version; a change of content by a caller below admin returns a reviewed item to pending. Equal content changes nothing.',
      access: 'member',
      fails: ['resource_frozen'],
      audit: 'update',
      etag: true,
      maxBodyBytes,
      params: ItemParams,
      body: KnowledgeItemUpdate,
      view: KnowledgeItemView,
      identify: planUpdate,
      example: { body: { content: 'Refunds up to 80 EUR need no approval.', reason: 'New limit from May on' } },
    },
    async (ctx, { params, body, identified: plan }) => {
      const locked = await seeItemForChange(ctx, params.item_id, { right: 'write' });
      const editor = { isAdmin: isAdminOf(ctx.caller, locked.base), plan: plan ?? undefined, indexer: indexerOf(ctx.deps) };
      const changes = await updateItem(ctx, locked, body, editor);

      ctx.audit(noteOfItem(locked.item, changes));
      const row = await readItem(ctx, params.item_id);
      return reply(toKnowledgeItemView(row), { version: row.rowVersion });
    },
  ),

  deleteKnowledgeItem: remove(
    '/knowledge-items/{item_id}',
    {
      summary: 'Delete an item',
      description:
        'The item no longer appears in searches, lists or relations. It can be restored, without its relations, until the retention period of its base is over.',
      access: 'member',
      mcp: true,
      fails: ['resource_frozen'],
      audit: 'delete',
      openWhenSuspended: true,
      params: ItemParams,
    },
    async (ctx, { params }) => {
      const locked = await seeItemForChange(ctx, params.item_id, { right: 'write', openWhenSuspended: true });
      await deleteItem(ctx, locked, ctx.deps.now());
      await forgetReplies(ctx, [locked.item.id]);
      ctx.audit(noteOfItem(locked.item));
    },
  ),

  restoreKnowledgeItem: post(
    '/knowledge-items/{item_id}/restore',
    {
      summary: 'Restore an item',
      description: 'Restores a deleted item in its former state, re-indexed and without its relations.',
      access: 'admin',
      fails: ['state_conflict', 'already_exists', 'resource_frozen'],
      audit: 'update',
      success: [200],
      params: ItemParams,
      view: KnowledgeItemView,
    },
    async (ctx, { params }) => {
      const restoring = { now: ctx.deps.now(), plan: undefined, indexer: indexerOf(ctx.deps) };
      const item = await restoreItem(ctx, params.item_id, restoring);
      ctx.audit(noteOfItem(item, { deleted_at: { changed: true } }));
      return toKnowledgeItemView(await readItem(ctx, item.id));
    },
  ),

  listKnowledgeItemVersions: list(
    '/knowledge-items/{item_id}/versions',
    {
      summary: 'List the versions of an item',
      description: 'All versions, newest first. A page ends early at 4 MiB.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      params: ItemParams,
      view: KnowledgeItemVersionView,
    },
    async (ctx, { params }) => {
      await requireBaseOfItem(ctx, params.item_id, { right: 'read' });
      return mapPage(await listItemVersionRows(ctx, params.item_id, ctx.page), toKnowledgeItemVersionView);
    },
  ),

  listKnowledgeItemChunks: list(
    '/knowledge-items/{item_id}/chunks',
    {
      summary: 'List the chunks of an item',
      description: 'Returns the parts that searches find and quote, in order.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      order: 'ord',
      params: ItemParams,
      view: KnowledgeChunkView,
    },
    async (ctx, { params }) => {
      await requireBaseOfItem(ctx, params.item_id, { right: 'read' });
      return mapPage(await listItemChunkRows(ctx, params.item_id, ctx.page), toKnowledgeChunkView);
    },
  ),
};
