import { forgetReplies } from '../../domain/http/idempotency.ts';
import { countBase } from '../../db/knowledge/bases/base-stats.ts';
import { listBaseRows, readBase } from '../../db/knowledge/bases/bases.ts';
import { resolveNewRowScope } from '../../db/new-row-scope.ts';
import { mapPage } from '../../db/page.ts';
import { refuseBaseOwners } from '../../domain/knowledge/bases/base-owners.ts';
import { changeBase, deleteBase, makeBase, seeBaseForChange } from '../../domain/knowledge/bases/bases.ts';
import { noteOfNamed } from '../http/operation/audit.ts';
import { changesOf } from '../http/operation/changes.ts';
import { get, list, patch, post, remove, reply } from '../http/operation/operation.ts';
import { modelOf, refuseOtherModel, toChanges, toFilters, toNewBase } from './base-bodies.ts';
import {
  BaseParams,
  KnowledgeBaseCreate,
  KnowledgeBaseFilters,
  KnowledgeBaseStatsView,
  KnowledgeBaseUpdate,
  KnowledgeBaseView,
  toKnowledgeBaseStatsView,
  toKnowledgeBaseView,
} from './base.schema.ts';

const location = (view: { readonly id: string }) => `/knowledge-bases/${view.id}`;
const resourceType = 'knowledge_base';

export const baseOperations = {
  listKnowledgeBases: list(
    '/knowledge-bases',
    {
      summary: 'List knowledge bases',
      description:
        'Bases that the caller may read, newest first; admins see private ones of their place too. One that a re-embed still fills is in no list. q looks in slug and name.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      query: KnowledgeBaseFilters,
      view: KnowledgeBaseView,
    },
    async (ctx, { query }) => mapPage(await listBaseRows(ctx, toFilters(query), ctx.page), toKnowledgeBaseView),
  ),

  createKnowledgeBase: post(
    '/knowledge-bases',
    {
      summary: 'Create a knowledge base',
      description:
        'Makes an empty base. Its embedding model never changes; with none it is searched by words alone. A private base is for its subject, its owner agent or persona and holders of a grant; whoever makes one that has no subject gets a grant to manage it.',
      access: 'member',
      fails: ['not_found', 'already_exists'],
      audit: 'create',
      idempotent: true,
      resourceType,
      location,
      body: KnowledgeBaseCreate,
      view: KnowledgeBaseView,
      example: { body: { slug: 'handbook', name: 'Handbook', retrieval: { language: 'en' } } },
    },
    async (ctx, { body }) => {
      const home = await resolveNewRowScope(ctx, { scope: body.scope, workspace_id: body.workspace_id });
      const made = toNewBase(body, home, modelOf(ctx.deps.embedder, body.embedding_model ?? null));
      const { ownerAgentId, ownerPersonaId, subjectKind, subjectId } = made;
      const subject = subjectKind !== null && subjectId !== null ? { kind: subjectKind, id: subjectId } : null;
      await refuseBaseOwners(ctx, home, { ownerAgentId, ownerPersonaId, subject });
      const base = await makeBase(ctx, made, ctx.deps.now());

      ctx.audit(noteOfNamed(resourceType, base));
      return toKnowledgeBaseView({ ...base, itemCount: 0, pending: 0, reviewed: 0, promoted: 0, superseded: 0, retired: 0 });
    },
  ),

  getKnowledgeBase: get(
    '/knowledge-bases/{kb_id}',
    {
      summary: 'Read a knowledge base',
      description: 'One base with the number of its items. One that a re-embed fills is read by its id.',
      access: 'viewer',
      mcp: true,
      etag: true,
      // Its items are counted beside the version.
      notModified: false,
      params: BaseParams,
      view: KnowledgeBaseView,
    },
    async (ctx, { params }) => {
      const row = await readBase(ctx, params.kb_id);
      return reply(toKnowledgeBaseView(row), { version: row.version });
    },
  ),

  updateKnowledgeBase: patch(
    '/knowledge-bases/{kb_id}',
    {
      summary: 'Change a knowledge base',
      description:
        'Changes what is sent and keeps the rest. Chunking counts for what is indexed from now on; with another language all items are indexed anew, which a search says of itself meanwhile; not while a run writes to the base. A frozen base is read and searched, and its content stays as it is. Whoever makes a base private gets a grant to manage it. Another embedding model takes a re-embed.',
      access: 'member',
      fails: ['state_conflict', 'resource_frozen'],
      audit: 'update',
      etag: true,
      resourceType,
      params: BaseParams,
      body: KnowledgeBaseUpdate,
      view: KnowledgeBaseView,
      example: { body: { name: 'Handbook of 2026', is_frozen: true } },
    },
    async (ctx, { params, body }) => {
      refuseOtherModel(body);
      const found = await seeBaseForChange(ctx, params.kb_id, { need: 'manage' });
      const settings = { chunking: found.base.chunking, retrieval: found.base.retrieval };
      await changeBase(ctx, found, toChanges(body));

      const row = await readBase(ctx, params.kb_id);
      const changes = changesOf(
        { ...toKnowledgeBaseView(found.before), ...settings },
        { ...toKnowledgeBaseView(row), ...settingsOf(row) },
        audited,
      );
      ctx.audit(noteOfNamed(resourceType, row, changes));
      return reply(toKnowledgeBaseView(row), { version: row.version });
    },
  ),

  deleteKnowledgeBase: remove(
    '/knowledge-bases/{kb_id}',
    {
      summary: 'Delete a knowledge base',
      description:
        'Nothing finds or shows it any more, its slug may be taken again. While a run works on it: 409. One that a re-embed has superseded is the audit trail, which only an operator deletes.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'delete',
      openWhenSuspended: true,
      resourceType,
      params: BaseParams,
    },
    async (ctx, { params }) => {
      const found = await seeBaseForChange(ctx, params.kb_id, { need: 'manage', openWhenSuspended: true });
      await deleteBase(ctx, found, ctx.deps.now());
      await forgetReplies(ctx, [found.base.id]);
      ctx.audit(noteOfNamed(resourceType, found.base));
    },
  ),

  getKnowledgeBaseStats: get(
    '/knowledge-bases/{kb_id}/stats',
    {
      summary: 'Read what a knowledge base holds',
      description:
        'Items by state, kind, origin and state of their index, with chunks, tokens, vectors and sources. Counted when it is asked for.',
      access: 'viewer',
      mcp: true,
      params: BaseParams,
      view: KnowledgeBaseStatsView,
    },
    async (ctx, { params }) => {
      const base = await readBase(ctx, params.kb_id);
      return toKnowledgeBaseStatsView(base, await countBase(ctx, base.id));
    },
  ),
};

const audited = ['name', 'kind', 'is_private', 'is_frozen', 'chunking', 'retrieval'] as const;

function settingsOf({ chunking, retrieval }: Pick<Awaited<ReturnType<typeof readBase>>, 'chunking' | 'retrieval'>) {
  return { chunking, retrieval };
}
