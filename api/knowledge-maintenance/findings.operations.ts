import { listFindingRows, readFinding, type FindingRow } from '../../db/knowledge/upkeep/findings.ts';
import { mapPage } from '../../db/page.ts';
import { settleFinding } from '../../domain/knowledge/upkeep/findings.ts';
import { list, post, type AuditNote } from '../http/operation/operation.ts';
import { FindingFilters, FindingParams, FindingResolve, KnowledgeFindingView, toKnowledgeFindingView } from './findings.schema.ts';

/** Findings: what runs noticed, and what people do about it. */
export const findingOperations = {
  listKnowledgeFindings: list(
    '/knowledge-findings',
    {
      summary: 'List findings',
      description:
        'Findings of maintenance and ingestion about items of bases that the caller can read, newest first; findings about private bases are only shown to their curators.',
      access: 'member',
      paging: 'keyset',
      query: FindingFilters,
      view: KnowledgeFindingView,
    },
    async (ctx, { query: { kb_id: kbId, kind, state } }) =>
      mapPage(await listFindingRows(ctx, { kbId, kind, state }, ctx.page), toKnowledgeFindingView),
  ),

  resolveKnowledgeFinding: post(
    '/knowledge-findings/{finding_id}/resolve',
    {
      summary: 'Resolve a finding',
      description:
        'merge keeps one item with the evidence of both and supersedes the other, supersede does the same without merging the evidence, keep_both and dismiss change no item, retire removes one item from searches. Nothing is deleted: undo restores the items and the finding, as long as they have not been changed and undo_until has not passed. 409 if the finding is already resolved or one of its items has changed since.',
      access: 'admin',
      fails: ['not_found', 'state_conflict', 'resource_frozen'],
      audit: 'approve',
      success: [200],
      params: FindingParams,
      body: FindingResolve,
      view: KnowledgeFindingView,
      example: { body: { action: 'dismiss', reason: 'Both are true: they speak of different plants.' } },
    },
    async (ctx, { params, body }) => {
      const { action, keep_item_id: keepItemId = null, item_id: itemId = null, reason = null } = body;
      await settleFinding(ctx, params.finding_id, { action, keepItemId, itemId, reason }, ctx.deps.now());
      const row = await readFinding(ctx, params.finding_id);
      ctx.audit(noteOf(row, action));
      return toKnowledgeFindingView(row);
    },
  ),
};

function noteOf({ id, kind, kbId, organizationId, workspaceId, itemIds }: FindingRow, action: string): AuditNote {
  const changes = { kb_id: { to: kbId }, action: { to: action }, item_ids: { to: itemIds } };
  return { resourceType: 'knowledge_finding', resourceId: id, label: kind, organizationId, workspaceId, changes };
}
