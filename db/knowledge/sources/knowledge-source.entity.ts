import { defineEntity, p } from '@mikro-orm/core';
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
import type { KnowledgeMetadata } from '../items/knowledge-item.entity.ts';
import { knowledgeItemKinds } from '../../../workflows/contracts/knowledge/curation.ts';

export const knowledgeSourceKinds = ['attachment', 'url', 'text'] as const;
export type KnowledgeSourceKind = (typeof knowledgeSourceKinds)[number];
export const knowledgeSourceStates = ['queued', 'fetching', 'parsing', 'indexing', 'ready', 'failed'] as const;
export type KnowledgeSourceState = (typeof knowledgeSourceStates)[number];

/** A problem with a part of a source that was ingested all the same. */
export interface KnowledgeSourceWarning {
  readonly code: string;
  readonly detail: string;
}

/** Why a source failed. */
export interface KnowledgeSourceError {
  readonly code: string;
  readonly stage: string;
  readonly detail: string;
  readonly item_id: string | null;
  readonly chunk_ord: number | null;
}

const schema = defineEntity({
  name: 'KnowledgeSource',
  tableName: 'knowledge_sources',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('knowledge_sources', 'child'),
  indexes: [
    ...tenantIndexes('knowledge_sources'),
    index('knowledge_sources', 'state', '(kb_id, state)'),
    index('knowledge_sources', 'attachment', '(attachment_id) where attachment_id is not null'),
    uniqueIndex('knowledge_sources', 'predecessor', '(kb_id, predecessor_source_id) where predecessor_source_id is not null'),
  ],
  properties: {
    id: idColumn(),
    kbId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    kind: p.enum(knowledgeSourceKinds),
    title: p.text().strictNullable(),
    uri: p.text().strictNullable(),
    attachmentId: uuidColumn().strictNullable(),
    /** Content of a source of kind text. */
    text: p.text().strictNullable(),
    /** Kind, tags and metadata of its items. */
    itemKind: p.enum(knowledgeItemKinds).default('document'),
    tags: textArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    metadata: jsonColumn<KnowledgeMetadata>(() => ({})),
    mediaType: p.text().strictNullable(),
    /** SHA-256 (hex) of its bytes. */
    contentHash: p.text().strictNullable(),
    /** Name and version of the extractor that parsed it: a different one parses it again. */
    extractor: p.text().strictNullable(),
    state: p.enum(knowledgeSourceStates).default('queued'),
    itemCount: p.integer().default(0),
    chunkCount: p.integer().default(0),
    tokenCount: p.integer().default(0),
    warnings: jsonColumn<KnowledgeSourceWarning[]>(() => []),
    error: p.json<KnowledgeSourceError>().strictNullable(),
    /** The run of its last sync. */
    runId: uuidColumn().strictNullable(),
    /** Counts its syncs; part of the ids of their workflows. */
    syncNo: p.integer().default(0),
    /** The source of the predecessor base that this source was copied from. */
    predecessorSourceId: uuidColumn().strictNullable(),
    lastSyncedAt: timeColumn().strictNullable(),
    createdBy: p.json<ActorRef>(),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    deletedAt: timeColumn().strictNullable(),
  },
});

/** A file, a page or a text that items are made from. */
export class KnowledgeSource extends schema.class {}
schema.setClass(KnowledgeSource);
