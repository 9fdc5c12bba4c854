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
        'Bases that the caller can read, newest first; admins also see private bases of their scope. A base that a re-embed is still filling is not listed. q searches slug and name.',
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
        'Creates an empty base. Its embedding model cannot be changed later; with none, it only supports lexical search. A private base is restricted to its subject, its owner agent or persona, and holders of a grant; the creator of a private base without a subject gets a grant to manage it.',
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
      const rowScope = await resolveNewRowScope(ctx, { scope: body.scope, workspace_id: body.workspace_id });
      const made = toNewBase(body, rowScope, modelOf(ctx.deps.embedder, body.embedding_model ?? null));
      const { ownerAgentId, ownerPersonaId, subjectKind, subjectId } = made;
      const subject = subjectKind !== null && subjectId !== null ? { kind: subjectKind, id: subjectId } : null;
      await refuseBaseOwners(ctx, rowScope, { ownerAgentId, ownerPersonaId, subject });
      const base = await makeBase(ctx, made, ctx.deps.now());

      ctx.audit(noteOfNamed(resourceType, base));
      return toKnowledgeBaseView({ ...base, itemCount: 0, pending: 0, reviewed: 0, promoted: 0, superseded: 0, retired: 0 });
    },
  ),

  getKnowledgeBase: get(
    '/knowledge-bases/{kb_id}',
    {
      summary: 'Read a knowledge base',
      description: 'Returns one base with the number of its items. A base that a re-embed is filling can be read by its id.',
      access: 'viewer',
      mcp: true,
      etag: true,
      // Its items are counted independently of the version.
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
        'Changes the fields that are sent and keeps the rest. Chunking applies to whatever is indexed from now on; a new language re-indexes all items, which searches report until it is done; not possible while a run writes to the base. A frozen base can be read and searched, but its content cannot be changed. A caller who makes a base private gets a grant to manage it. Changing the embedding model requires a re-embed.',
      access: 'member',
      fails: ['state_conflict', 'resource_frozen'],
      audit: 'update',
      etag: true,
      resourceType,
      params: BaseParams,
      body: KnowledgeBaseUpdate,
      view: KnowledgeBaseView,
      example: { body: { name: 'Handbook of 2026' } },
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
        'The base is no longer found or shown, and its slug becomes available again. 409 while a run is working on it. A base superseded by a re-embed is kept as an audit trail, which only an operator can delete.',
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
      summary: 'Read the contents of a knowledge base',
      description:
        'Returns counts of items by state, kind, origin and index state, and of chunks, tokens, vectors and sources. Counted at the time of the request.',
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
