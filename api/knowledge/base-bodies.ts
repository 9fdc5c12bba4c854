import type { Static } from 'typebox';
import type { BaseFilters } from '../../db/knowledge/bases/bases.ts';
import type { RowScope } from '../../db/new-row-scope.ts';
import { refuseOpenSubject, refuseOverlap, type BaseChanges, type NewBase } from '../../domain/knowledge/bases/bases.ts';
import { subjectIdOf } from '../../domain/knowledge/bases/base-owners.ts';
import { noEmbeddings, type Embedder } from '../../ports/embeddings/index.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { BaseUpdateBody, KnowledgeBaseCreate, KnowledgeBaseFilters } from './base.schema.ts';

/** An embedding model by its id, or the deployment's own; `none` has no dimension. Throws 422 `unknown_embedding_model`. */
export function modelOf(
  embedder: Pick<Embedder, 'find' | 'defaultModel'>,
  asked: string | null,
): { readonly id: string; readonly dim: number } {
  const id = asked ?? embedder.defaultModel;
  if (id === noEmbeddings) return { id, dim: 0 };
  const model = embedder.find(id);
  if (model) return { id, dim: model.dim };
  throw refused(
    'unknown_embedding_model',
    '/embedding_model',
    'This deployment does not have this embedding model; GET /capabilities lists the available ones.',
  );
}

/** 422 `use_reembed` for a body that names a model, be it the same: vectors of two models can't be compared. */
export function refuseOtherModel(body: BaseUpdateBody): void {
  if (body.embedding_model === undefined) return;
  throw refused(
    'use_reembed',
    '/embedding_model',
    'The embedding model of a base cannot be changed; POST /knowledge-bases/{kb_id}/reembed creates a base with another model.',
  );
}

/** Converts a body to a new base. Throws 422 for an incomplete subject, for the subject of an open base, and for an overlap as long as a chunk. */
export function toNewBase(
  body: Static<typeof KnowledgeBaseCreate>,
  rowScope: RowScope,
  model: { readonly id: string; readonly dim: number },
): NewBase {
  const { subject_kind: subjectKind = null, subject_id: subjectId = null, is_private: isPrivate = null, kind = 'documents' } = body;
  if ((subjectKind === null) !== (subjectId === null))
    throw invalid(subjectKind === null ? '/subject_kind' : '/subject_id', 'required', 'A subject needs both its kind and its id.');
  if (isPrivate === false) refuseOpenSubject(subjectKind);
  const chunking = { size_tokens: body.chunking?.size_tokens ?? 400, overlap_tokens: body.chunking?.overlap_tokens ?? 40 };
  refuseOverlap(chunking);
  const { language = 'en', vector_weight: weight = null, include_pending: includePending = kind === 'memory' } = body.retrieval ?? {};
  return {
    ...rowScope,
    slug: body.slug,
    name: body.name,
    kind,
    ownerAgentId: body.owner_agent_id ?? null,
    ownerPersonaId: body.owner_persona_id ?? null,
    subjectKind,
    subjectId: subjectKind === null || subjectId === null ? null : subjectIdOf(subjectKind, subjectId),
    isPrivate: isPrivate ?? subjectKind !== null,
    embeddingModel: model.id,
    embeddingDim: model.dim,
    chunking,
    retrieval: { language, vector_weight: weight, include_pending: includePending },
  };
}

export function toChanges(body: BaseUpdateBody): BaseChanges {
  const { name, kind, is_private: isPrivate, is_frozen: isFrozen, chunking, retrieval } = body;
  return {
    ...(name === undefined ? {} : { name }),
    ...(kind === undefined ? {} : { kind }),
    ...(isPrivate === undefined ? {} : { isPrivate }),
    ...(isFrozen === undefined ? {} : { isFrozen }),
    ...(chunking === undefined ? {} : { chunking }),
    ...(retrieval === undefined ? {} : { retrieval }),
  };
}

export function toFilters(query: Static<typeof KnowledgeBaseFilters>): BaseFilters {
  const flag = (value: boolean | undefined, wanted: boolean) => (value === wanted ? (true as const) : undefined);
  return {
    scope: query.scope,
    kind: query.kind,
    ownerAgentId: query.owner_agent_id,
    ownerPersonaId: query.owner_persona_id,
    subjectKind: query.subject_kind,
    subjectId: query.subject_id === undefined ? undefined : subjectIdOf(query.subject_kind ?? 'guest', query.subject_id),
    private: flag(query.is_private, true),
    open: flag(query.is_private, false),
    frozen: flag(query.is_frozen, true),
    unfrozen: flag(query.is_frozen, false),
    q: query.q,
  };
}

function refused(reason: string, pointer: string, message: string): Error {
  return fail('validation_failed', { reason, detail: message, errors: [{ in: 'body', pointer, name: null, rule: reason, message }] });
}
