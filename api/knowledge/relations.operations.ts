import { forgetReplies } from '../../domain/http/idempotency.ts';
import { requireBaseOfItem } from '../../domain/knowledge/bases/base-rights.ts';
import { mapPage } from '../../db/page.ts';
import { pageOfWalk, walkRelations } from '../../db/knowledge/items/relations.ts';
import { createRelation, deleteRelation } from '../../domain/knowledge/items/relations.ts';
import { list, post, remove } from '../http/operation/operation.ts';
import { ItemParams } from './item.schema.ts';
import {
  KnowledgeRelationCreate,
  KnowledgeRelationView,
  RelationFilters,
  RelationParams,
  toKnowledgeRelationView,
} from './relation.schema.ts';

/** Links between the items of a base. */
export const relationOperations = {
  listKnowledgeRelations: list(
    '/knowledge-items/{item_id}/relations',
    {
      summary: 'List relations',
      description:
        'Relations around an item, nearest first, at most 200. Deleted items and whatever is only reachable through them are omitted.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      order: 'depth',
      params: ItemParams,
      query: RelationFilters,
      view: KnowledgeRelationView,
    },
    async (ctx, { params, query: { direction = 'both', depth = 1, type } }) => {
      await requireBaseOfItem(ctx, params.item_id, { right: 'read' });
      const found = await walkRelations(ctx, params.item_id, { direction, depth, type });
      return mapPage(pageOfWalk(found, ctx.page), toKnowledgeRelationView);
    },
  ),

  createKnowledgeRelation: post(
    '/knowledge-items/{item_id}/relations',
    {
      summary: 'Create a relation',
      description: 'Links an item to another item of its base, at most once per type.',
      access: 'member',
      fails: ['already_exists', 'resource_frozen'],
      audit: 'create',
      idempotent: true,
      params: ItemParams,
      body: KnowledgeRelationCreate,
      view: KnowledgeRelationView,
      example: { body: { to_item_id: '01900000-0000-7000-8000-000000000002', type: 'supports', note: 'Same report' } },
    },
    async (ctx, { params, body }) => {
      const draft = { fromItemId: params.item_id, toItemId: body.to_item_id, type: body.type, note: body.note ?? null };
      const { relation, base } = await createRelation(ctx, draft);

      const { organizationId, workspaceId } = base;
      ctx.audit({ resourceType: 'knowledge_relation', resourceId: relation.id, label: body.type, organizationId, workspaceId });
      return toKnowledgeRelationView({ ...relation, depth: 1 });
    },
  ),

  deleteKnowledgeRelation: remove(
    '/knowledge-relations/{relation_id}',
    {
      summary: 'Delete a relation',
      description: 'Removes the link; the items stay.',
      access: 'member',
      fails: ['resource_frozen'],
      audit: 'delete',
      openWhenSuspended: true,
      params: RelationParams,
    },
    async (ctx, { params }) => {
      const { relation, base } = await deleteRelation(ctx, params.relation_id);
      await forgetReplies(ctx, [relation.id]);
      const { organizationId, workspaceId } = base;
      ctx.audit({ resourceType: 'knowledge_relation', resourceId: relation.id, label: relation.type, organizationId, workspaceId });
    },
  ),
};
