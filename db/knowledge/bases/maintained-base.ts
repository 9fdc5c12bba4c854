import { sql } from 'kysely';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { GoldenQuery, KnowledgeDecay } from './knowledge-policy.entity.ts';

type Tx = Pick<TenantTransaction, 'em'>;

function selectBase(kbId: string) {
  return query
    .selectFrom('knowledge_bases as b')
    .where('b.id', '=', kbId)
    .where('b.deletedAt', 'is', null)
    .where('b.activatedAt', 'is not', null)
    .select([
      'b.id',
      'b.organizationId',
      'b.workspaceId',
      'b.kind',
      'b.embeddingModel',
      'b.embeddingDim',
      'b.lexNo',
      'b.chunking',
      'b.retrieval',
    ])
    .select(['b.isFrozen', 'b.successorId', 'b.activatedAt']);
}

/** A base as its maintenance needs it. */
export type MaintainedBase = NonNullable<Awaited<ReturnType<typeof readMaintainedBase>>>;

/** Returns a live base; null when it is deleted or still being built. */
export function readMaintainedBase(tx: Tx, kbId: string) {
  return row(tx.em, selectBase(kbId));
}

/** Like `readMaintainedBase`, but also prevents the base from being frozen, changed or deleted until the transaction ends. */
export function shareMaintainedBase(tx: Tx, kbId: string) {
  return row(tx.em, selectBase(kbId).forShare());
}

/** Like `shareMaintainedBase`, but also blocks writes to the base's content, since their writers share the base's lock. */
export function lockMaintainedBase(tx: Tx, kbId: string) {
  return row(tx.em, selectBase(kbId).forUpdate());
}

/** How a base is maintained. */
export interface PolicyFields {
  readonly schedule: string | null;
  readonly timezone: string;
  readonly tasks: readonly string[];
  readonly duplicateThreshold: number;
  readonly autoMerge: boolean;
  readonly staleAfterDays: number;
  readonly retentionDays: number;
  readonly maxPauseHours: number;
  readonly judgeModel: string | null;
  readonly decay: KnowledgeDecay;
  readonly allowMissingEmbeddings: boolean;
  readonly goldenQueries: readonly GoldenQuery[];
}

/** A policy with the fields that only a stored one has. */
export interface PolicyRow extends PolicyFields {
  readonly kbId: string;
  readonly version: number;
  readonly updatedAt: string | null;
}

/** The policy of a base that has none stored. */
export const defaultPolicy: PolicyFields = {
  schedule: null,
  timezone: 'UTC',
  tasks: [],
  duplicateThreshold: 0.95,
  autoMerge: false,
  staleAfterDays: 180,
  retentionDays: 30,
  maxPauseHours: 24,
  judgeModel: null,
  decay: { enabled: false, half_life_days: 90, floor: 0.5 },
  allowMissingEmbeddings: false,
  goldenQueries: [],
};

/** Makes other writers of a base's policy wait until the transaction ends; there may be no row yet to lock. */
export async function lockPolicy(tx: Tx, kbId: string): Promise<void> {
  await row(tx.em, query.selectNoFrom(sql<unknown>`pg_advisory_xact_lock(hashtextextended('policy ' || ${kbId}::text, 0))`.as('lock')));
}

/** Returns the policy of a base; where it has none, the defaults with version 0. */
export async function readPolicy(tx: Tx, kbId: string): Promise<PolicyRow> {
  const found = await row(
    tx.em,
    query
      .selectFrom('knowledge_policies as p')
      .where('p.kbId', '=', kbId)
      .select([
        'p.kbId',
        'p.schedule',
        'p.timezone',
        'p.tasks',
        'p.duplicateThreshold',
        'p.autoMerge',
        'p.staleAfterDays',
        'p.retentionDays',
      ])
      .select(['p.maxPauseHours', 'p.judgeModel', 'p.decay', 'p.allowMissingEmbeddings', 'p.goldenQueries', 'p.version', 'p.updatedAt']),
  );
  return found === null
    ? { kbId, ...defaultPolicy, version: 0, updatedAt: null }
    : { ...found, duplicateThreshold: Number(found.duplicateThreshold) };
}
