import { defineEntity, p } from '@mikro-orm/core';
import type { ActorRef } from '../../actor-ref.ts';
import {
  createdAtColumn,
  idColumn,
  jsonColumn,
  timeColumn,
  updatedAtColumn,
  uuidArrayColumn,
  uuidColumn,
  versionColumn,
} from '../../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const knowledgeFindingKinds = [
  'duplicate',
  'contradiction',
  'stale',
  'orphan',
  'low_evidence',
  'injection_suspect',
  'integrity',
] as const;
export type KnowledgeFindingKind = (typeof knowledgeFindingKinds)[number];
export const knowledgeFindingStates = ['open', 'resolved', 'dismissed'] as const;
export type KnowledgeFindingState = (typeof knowledgeFindingStates)[number];
export const knowledgeResolutions = ['merge', 'supersede', 'keep_both', 'retire', 'dismiss'] as const;

const schema = defineEntity({
  name: 'KnowledgeFinding',
  tableName: 'knowledge_findings',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('knowledge_findings', 'child'),
  indexes: [
    ...tenantIndexes('knowledge_findings'),
    uniqueIndex('knowledge_findings', 'fingerprint', '(kb_id, kind, fingerprint)'),
    index('knowledge_findings', 'state', '(kb_id, state, id desc)'),
  ],
  properties: {
    id: idColumn(),
    kbId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    runId: uuidColumn().strictNullable(),
    kind: p.enum(knowledgeFindingKinds),
    /** Identifies equal observations, within base and kind, as one finding. */
    fingerprint: p.text(),
    state: p.enum(knowledgeFindingStates).default('open'),
    itemIds: uuidArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    score: p.double().strictNullable(),
    detail: jsonColumn<Record<string, unknown>>(() => ({})),
    resolution: p.enum(knowledgeResolutions).strictNullable(),
    reason: p.text().strictNullable(),
    resolvedBy: p.json<ActorRef>().strictNullable(),
    resolvedAt: timeColumn().strictNullable(),
    /** What an undo needs: the previous states and links. */
    undo: p.json<Record<string, unknown>>().strictNullable(),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** An observation of a run about items, for a person to resolve. */
export class KnowledgeFinding extends schema.class {}
schema.setClass(KnowledgeFinding);
