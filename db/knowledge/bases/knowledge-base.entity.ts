import { defineEntity, p } from '@mikro-orm/core';
import { scopes } from '../../../workflows/contracts/access.ts';
import { createdAtColumn, idColumn, jsonColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../../columns.ts';
import { index, rowScopeCheck, scopedIndexes, slugIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const knowledgeBaseKinds = ['documents', 'memory', 'faq', 'playbook', 'code'] as const;
export type KnowledgeBaseKind = (typeof knowledgeBaseKinds)[number];
export const knowledgeSubjectKinds = ['user', 'guest'] as const;
export type KnowledgeSubjectKind = (typeof knowledgeSubjectKinds)[number];

/** How documents are chunked, in tokens of the base's model. */
export interface KnowledgeChunking {
  readonly size_tokens: number;
  readonly overlap_tokens: number;
}

/** How the base is searched. `vector_weight` null: the model's own weight. */
export interface KnowledgeRetrieval {
  /** ISO 639-1 code of the stemmer and its stop words, or `none`. */
  readonly language: string;
  readonly vector_weight: number | null;
  readonly include_pending: boolean;
}

const schema = defineEntity({
  name: 'KnowledgeBase',
  tableName: 'knowledge_bases',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('knowledge_bases', 'child'),
  indexes: [
    ...scopedIndexes('knowledge_bases'),
    ...slugIndexes('knowledge_bases'),
    uniqueIndex('knowledge_bases', 'lex_no', '(lex_no)'),
    index('knowledge_bases', 'owner_agent', '(owner_agent_id) where owner_agent_id is not null'),
    index('knowledge_bases', 'subject', '(organization_id, subject_kind, subject_id) where subject_kind is not null'),
    index('knowledge_bases', 'predecessor', '(predecessor_id) where predecessor_id is not null'),
  ],
  uniques: [
    { name: 'knowledge_bases_tenant_key', properties: ['id', 'organizationId'] },
    // Key that the vectors of the base reference, so that no vector of another model can be among them.
    { name: 'knowledge_bases_model_key', properties: ['id', 'embeddingModel', 'embeddingDim'] },
  ],
  checks: [
    rowScopeCheck('knowledge_bases'),
    {
      name: 'knowledge_bases_model',
      expression: "(embedding_model = 'none') = (embedding_dim = 0) and embedding_dim >= 0 and embedding_dim <= 3072",
    },
    {
      name: 'knowledge_bases_subject',
      expression: '(subject_kind is null) = (subject_id is null) and (subject_kind is null or is_private)',
    },
  ],
  properties: {
    id: idColumn(),
    scope: p.enum(scopes),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    slug: p.text(),
    name: p.text(),
    kind: p.enum(knowledgeBaseKinds),
    ownerAgentId: uuidColumn().strictNullable(),
    ownerPersonaId: uuidColumn().strictNullable(),
    subjectKind: p.enum(knowledgeSubjectKinds).strictNullable(),
    subjectId: p.text().strictNullable(),
    isPrivate: p.boolean().default(false),
    isFrozen: p.boolean().default(false),
    embeddingModel: p.text(),
    embeddingDim: p.integer(),
    chunking: jsonColumn<KnowledgeChunking>(() => ({ size_tokens: 400, overlap_tokens: 40 })),
    retrieval: jsonColumn<KnowledgeRetrieval>(() => ({ language: 'en', vector_weight: null, include_pending: false })),
    /**
     * Prefix of the base's lexemes (`k3:` in base 36), through which one index serves every base as if it were its own. From the sequence
     * `knowledge_bases_lex_no_seq`.
     */
    lexNo: p.integer().autoincrement(),
    /** After a change of language, the last item, by id, that was marked as waiting for its index; null: all are marked. */
    relexedTo: uuidColumn().strictNullable(),
    /** The base whose content was re-embedded into this one. */
    predecessorId: uuidColumn().strictNullable(),
    /**
     * The base that has stood for this one since its cut-over. It is always the last of a chain, so a cut-over also repoints the bases that named the base
     * it supersedes.
     */
    successorId: uuidColumn().strictNullable(),
    /** Null: a re-embed is still filling the base, and nothing shows it. */
    activatedAt: timeColumn().strictNullable(),
    lastConsolidatedAt: timeColumn().strictNullable(),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    deletedAt: timeColumn().strictNullable(),
  },
});

/** Items that are searched together, with one embedding model. */
export class KnowledgeBase extends schema.class {}
schema.setClass(KnowledgeBase);
