import { forgetReplies } from '../../domain/http/idempotency.ts';
import { requireBase } from '../../domain/knowledge/bases/base-rights.ts';
import type { KnowledgeSource } from '../../db/knowledge/sources/knowledge-source.entity.ts';
import { listSourceRows, readSource } from '../../db/knowledge/sources/sources.ts';
import { mapPage } from '../../db/page.ts';
import { createSource, deleteSource, syncSource } from '../../domain/knowledge/sources/sources.ts';
import { get, list, post, remove, type AuditNote } from '../http/operation/operation.ts';
import {
  BaseSourcesParams,
  KnowledgeSourceCreate,
  KnowledgeSourceView,
  SourceDelete,
  SourceFilters,
  SourceParams,
  toKnowledgeSourceView,
} from './source.schema.ts';

const maxBodyBytes = 4 * 1_024 * 1_024;
const location = (view: { readonly id: string }) => `/knowledge-sources/${view.id}`;

/** Sources: files, pages and texts from which items are created. */
export const sourceOperations = {
  listKnowledgeSources: list(
    '/knowledge-bases/{kb_id}/sources',
    {
      summary: 'List sources',
      description: 'Sources of a base, newest first. q searches title and address.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      params: BaseSourcesParams,
      query: SourceFilters,
      view: KnowledgeSourceView,
    },
    async (ctx, { params, query: { state, kind, q } }) => {
      const base = await requireBase(ctx, params.kb_id, { right: 'read' });
      return mapPage(await listSourceRows(ctx, { kbId: base.id, state, kind, q }, ctx.page), toKnowledgeSourceView);
    },
  ),

  createKnowledgeSource: post(
    '/knowledge-bases/{kb_id}/sources',
    {
      summary: 'Add a source',
      description:
        'Starts a durable run that reads a file, a page or a text and creates items from it: text, Markdown, HTML, PDF, Word, PowerPoint, Excel, CSV, JSON, JSON Lines and mail. state shows the progress; a source ends as ready, or as failed with its error. All items appear at once.',
      access: 'member',
      mcp: true,
      fails: ['not_found', 'state_conflict', 'resource_frozen'],
      audit: 'submit',
      idempotent: true,
      maxBodyBytes,
      success: [202],
      location,
      params: BaseSourcesParams,
      body: KnowledgeSourceCreate,
      view: KnowledgeSourceView,
      example: { body: { text: '# Refunds\n\nRefunds up to 50 EUR need no approval.', title: 'Refund rules', tags: ['support'] } },
    },
    async (ctx, { params, body }) => {
      const { attachment_id: attachmentId, ...rest } = body;
      const named = attachmentId === undefined ? rest : { ...rest, attachmentId };
      const source = await createSource(ctx, params.kb_id, { body: named, currency: ctx.deps.env.billingCurrency });
      ctx.audit(noteOfSource(source));
      return toKnowledgeSourceView(await readSource(ctx, source.id));
    },
  ),

  getKnowledgeSource: get(
    '/knowledge-sources/{source_id}',
    {
      summary: 'Read a source',
      description: 'Returns one source with its state, warnings and error.',
      access: 'viewer',
      mcp: true,
      params: SourceParams,
      view: KnowledgeSourceView,
    },
    async (ctx, { params }) => {
      const row = await readSource(ctx, params.source_id);
      await requireBase(ctx, row.kbId, { right: 'read' });
      return toKnowledgeSourceView(row);
    },
  ),

  syncKnowledgeSource: post(
    '/knowledge-sources/{source_id}/sync',
    {
      summary: 'Sync a source',
      description:
        'Reads the source again. Unchanged bytes change nothing; otherwise passages with the same words keep their items, and the rest is replaced at once.',
      access: 'member',
      fails: ['not_found', 'state_conflict', 'resource_frozen'],
      audit: 'submit',
      idempotent: true,
      success: [202],
      location,
      params: SourceParams,
      view: KnowledgeSourceView,
    },
    async (ctx, { params }) => {
      const source = await syncSource(ctx, params.source_id, ctx.deps.env.billingCurrency);
      ctx.audit(noteOfSource(source));
      return toKnowledgeSourceView(await readSource(ctx, source.id));
    },
  ),

  deleteKnowledgeSource: remove(
    '/knowledge-sources/{source_id}',
    {
      summary: 'Delete a source',
      description: 'Deletes a source and its items; with keep_items, the items stay without a source. 409 while a run is working on it.',
      access: 'member',
      fails: ['not_found', 'state_conflict', 'resource_frozen'],
      audit: 'delete',
      openWhenSuspended: true,
      params: SourceParams,
      query: SourceDelete,
    },
    async (ctx, { params, query }) => {
      const deleted = await deleteSource(ctx, params.source_id, { keepItems: query.keep_items ?? false, now: ctx.deps.now() });
      await forgetReplies(ctx, [deleted.id]);
      ctx.audit(noteOfSource(deleted));
    },
  ),
};

/** The audit note of a source: none of its words, since entries outlive a purge. */
function noteOfSource({ id, organizationId, workspaceId }: KnowledgeSource): AuditNote {
  return { resourceType: 'knowledge_source', resourceId: id, organizationId, workspaceId };
}
