import { defineEntity, p } from '@mikro-orm/core';
import { curationStates, knowledgeItemKinds, knowledgeOrigins } from '../../../workflows/contracts/knowledge/curation.ts';
import type { ActorRef } from '../../actor-ref.ts';
import {
  createdAtColumn,
  idColumn,
  jsonColumn,
  textArrayColumn,
  timeColumn,
  updatedAtColumn,
  uuidColumn,
  versionColumn,
} from '../../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';
import type { KnowledgeSubjectKind } from '../bases/knowledge-base.entity.ts';

export const knowledgeTrusts = ['untrusted', 'workspace', 'reviewed'] as const;
export type KnowledgeTrust = (typeof knowledgeTrusts)[number];
export const knowledgeIndexStates = ['pending', 'ready', 'failed'] as const;
export const knowledgeEvidenceKinds = ['run', 'source', 'message', 'item', 'url'] as const;

/** At most 50 scalars, 16 KiB. */
export type KnowledgeMetadata = Readonly<Record<string, string | number | boolean | null>>;

/** A fact as three texts: contradictions are searched between facts of equal subject and relation. */
export interface KnowledgeFact {
  readonly subject: string;
  readonly relation: string;
  readonly object: string;
}

/** What a judge model has found in the content of an item; valid as long as the content has this hash. */
export interface KnowledgeJudged {
  readonly hash: string;
  /** Facts that the content states; absent: no judge has extracted them. */
  readonly facts?: readonly KnowledgeFact[];
  /** Fingerprints of pairs with older items that a judge did not consider contradictory. */
  readonly cleared?: readonly string[];
}

/** Where a page of a file begins in the content: its number from 1, and the number of code points before it. */
export interface KnowledgePageStart {
  readonly page: number;
  readonly start: number;
}

/** The origin of a statement. */
export interface KnowledgeEvidence {
  readonly kind: (typeof knowledgeEvidenceKinds)[number];
  readonly ref: string;
  readonly quote: string | null;
  readonly observed_at: string | null;
  readonly subject_kind: KnowledgeSubjectKind | null;
  readonly subject_id: string | null;
}

const schema = defineEntity({
  name: 'KnowledgeItem',
  tableName: 'knowledge_items',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('knowledge_items', 'child'),
  indexes: [
    ...tenantIndexes('knowledge_items'),
    uniqueIndex(
      'knowledge_items',
      'external',
      '(kb_id, external_id) where external_id is not null and deleted_at is null and staged_run_id is null',
    ),
    index('knowledge_items', 'list', '(kb_id, id)'),
    index('knowledge_items', 'hash', '(kb_id, content_hash)'),
    index('knowledge_items', 'state', '(kb_id, curation_state, id)'),
    index('knowledge_items', 'source', '(source_id, id) where source_id is not null'),
    index('knowledge_items', 'tags', "using gin (tags) where tags <> '{}'"),
    index('knowledge_items', 'staged', '(staged_run_id, id) where staged_run_id is not null'),
    index('knowledge_items', 'pending', "(kb_id, id) where index_state = 'pending' and deleted_at is null"),
    uniqueIndex('knowledge_items', 'predecessor', '(kb_id, predecessor_item_id) where predecessor_item_id is not null'),
    index('knowledge_items', 'superseded_by', '(superseded_by_id) where superseded_by_id is not null'),
  ],
  uniques: [{ name: 'knowledge_items_kb_key', properties: ['id', 'kbId'] }],
  checks: [{ name: 'knowledge_items_validity', expression: 'valid_from < valid_until' }],
  properties: {
    id: idColumn(),
    kbId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    sourceId: uuidColumn().strictNullable(),
    externalId: p.text().strictNullable(),
    kind: p.enum(knowledgeItemKinds),
    title: p.text().strictNullable(),
    content: p.text(),
    /** SHA-256 (hex) of the content in NFC with `\n` line ends. */
    contentHash: p.text(),
    tags: textArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    metadata: jsonColumn<KnowledgeMetadata>(() => ({})),
    fact: p.json<KnowledgeFact>().strictNullable(),
    judged: p.json<KnowledgeJudged>().strictNullable(),
    evidence: jsonColumn<KnowledgeEvidence[]>(() => []),
    /** Where the pages of its file begin in the content, in code points; null: the file has no pages, or the content is no longer the file's. */
    pages: p.json<readonly KnowledgePageStart[]>().strictNullable(),
    validFrom: timeColumn().strictNullable(),
    validUntil: timeColumn().strictNullable(),
    observedAt: timeColumn().strictNullable(),
    origin: p.enum(knowledgeOrigins),
    trust: p.enum(knowledgeTrusts),
    curationState: p.enum(curationStates),
    supersededById: uuidColumn().strictNullable(),
    /** The item of the predecessor base that this item was copied from. */
    predecessorItemId: uuidColumn().strictNullable(),
    tokenCount: p.integer().default(0),
    chunkCount: p.integer().default(0),
    indexState: p.enum(knowledgeIndexStates).default('pending'),
    indexError: p.text().strictNullable(),
    /** The run that is building the item: nothing shows it until that run publishes it. */
    stagedRunId: uuidColumn().strictNullable(),
    lastUsedAt: timeColumn().strictNullable(),
    /** Number of its content's version; `knowledge_item_versions` has the earlier ones too. */
    version: p.integer().default(1),
    createdBy: p.json<ActorRef>(),
    rowVersion: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    deletedAt: timeColumn().strictNullable(),
  },
});

/** A document, fact or memory of a base. */
export class KnowledgeItem extends schema.class {}
schema.setClass(KnowledgeItem);
