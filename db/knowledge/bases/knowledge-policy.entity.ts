import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, jsonColumn, textArrayColumn, updatedAtColumn, uuidColumn, versionColumn } from '../../columns.ts';
import { tenantPolicies } from '../../policies.ts';

/** How scores decay with age. */
export interface KnowledgeDecay {
  readonly enabled: boolean;
  readonly half_life_days: number;
  readonly floor: number;
}

/** A query with known answers. */
export interface GoldenQuery {
  readonly query: string;
  /** External ids or item ids. */
  readonly relevant: readonly string[];
  readonly filters?: Readonly<Record<string, unknown>>;
}

const schema = defineEntity({
  name: 'KnowledgePolicy',
  tableName: 'knowledge_policies',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('knowledge_policies', 'child'),
  properties: {
    kbId: uuidColumn().primary(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    /** Cron expression; null: maintenance never runs by itself. */
    schedule: p.text().strictNullable(),
    timezone: p.text().default('UTC'),
    tasks: textArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    duplicateThreshold: p.double().default(0.95),
    autoMerge: p.boolean().default(false),
    staleAfterDays: p.integer().default(180),
    retentionDays: p.integer().default(30),
    maxPauseHours: p.integer().default(24),
    judgeModel: p.text().strictNullable(),
    decay: jsonColumn<KnowledgeDecay>(() => ({ enabled: false, half_life_days: 90, floor: 0.5 })),
    allowMissingEmbeddings: p.boolean().default(false),
    goldenQueries: jsonColumn<GoldenQuery[]>(() => []),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** How a base is maintained. */
export class KnowledgePolicy extends schema.class {}
schema.setClass(KnowledgePolicy);
