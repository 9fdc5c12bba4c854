import { sql } from 'kysely';
import type { Condition } from '../../condition.ts';
import type { PageRequest } from '../../page.ts';
import { preparedList } from '../../page-query.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { visibleTo, type Scoped } from '../../scope.ts';
import { row, rows } from '../../sql.ts';
import { UsageEntry, type usageKinds } from './usage-entry.entity.ts';

export interface UsageRecordFilters {
  readonly workspaceId?: string;
  readonly agentId?: string;
  readonly runId?: string;
  readonly model?: string;
  readonly kind?: (typeof usageKinds)[number];
  readonly userId?: string;
  /** Time of the call: from ≤ it < to. */
  readonly from?: string;
  readonly to?: string;
}

/** A row of the ledger, as views show it. */
export type UsageRecord = Awaited<ReturnType<typeof listUsageRecords>>['items'][number];

type RecordArguments = UsageRecordFilters & { readonly visible: Condition };

function matching(p: ParametersOf<RecordArguments>) {
  let found = query.selectFrom('usage_entries as e').where(p.visible);
  if (p.workspaceId) found = found.where('e.workspaceId', '=', p.workspaceId);
  if (p.agentId) found = found.where('e.agentId', '=', p.agentId);
  if (p.runId) found = found.where('e.runId', '=', p.runId);
  if (p.model) found = found.where('e.model', '=', p.model);
  if (p.kind) found = found.where('e.kind', '=', p.kind);
  if (p.userId) found = found.where('e.userId', '=', p.userId);
  if (p.from) found = found.where('e.occurredAt', '>=', p.from);
  if (p.to) found = found.where('e.occurredAt', '<', p.to);
  return found;
}

const records = (p: ParametersOf<RecordArguments>) =>
  matching(p)
    .select(['e.id', 'e.occurredAt', 'e.organizationId', 'e.workspaceId', 'e.sourceKind', 'e.sourceId', 'e.runId', 'e.agentId'])
    .select(['e.agentRevisionId', 'e.userId', 'e.serviceKeyId', 'e.step', 'e.attempt', 'e.kind', 'e.model', 'e.provider', 'e.tier'])
    .select(['e.providerRequestId', 'e.inputTokens', 'e.cachedReadTokens', 'e.cachedWriteTokens', 'e.outputTokens', 'e.reasoningTokens'])
    .select(['e.units', 'e.cost', 'e.currency', 'e.estimated', 'e.unpriced']);

const pageOfRecords = preparedList(
  (p: ParametersOf<RecordArguments>) => records(p),
  [
    { column: 'e.occurredAt', type: 'timestamptz', descending: true },
    { column: 'e.id', type: 'uuid', descending: true },
  ],
);

/** Lists ledger rows that the caller sees, newest first. Ids of other tenants match nothing. */
export function listUsageRecords(ctx: Scoped, filters: UsageRecordFilters, page: PageRequest) {
  return pageOfRecords(ctx.em, { ...filters, visible: visibleTo(ctx, UsageEntry, 'e') }, page);
}

/** A position in the ledger, whose rows are ordered by time and id. */
export interface LedgerPosition {
  readonly occurredAt: string;
  readonly id: string;
}

type ExportArguments = RecordArguments & { readonly afterAt?: string; readonly afterId?: string };

const newest = prepared((p: ParametersOf<RecordArguments>) =>
  matching(p).select(['e.occurredAt', 'e.id']).orderBy('e.occurredAt', 'desc').orderBy('e.id', 'desc').limit(1),
);

/** Returns the newest row that matches the filters, or null. */
export function newestRecord(ctx: Scoped, filters: UsageRecordFilters): Promise<LedgerPosition | null> {
  return row(ctx.em, newest({ ...filters, visible: visibleTo(ctx, UsageEntry, 'e') }));
}

const nextRecords = prepared((p: ParametersOf<ExportArguments & { last: string; lastId: string; limit: number }>) => {
  let found = records(p).where(sql<boolean>`(e.occurred_at, e.id) <= (${p.last}::timestamptz, ${p.lastId}::uuid)`);
  if (p.afterAt && p.afterId) found = found.where(sql<boolean>`(e.occurred_at, e.id) > (${p.afterAt}::timestamptz, ${p.afterId}::uuid)`);
  return found.orderBy('e.occurredAt').orderBy('e.id').limit(p.limit);
});

export interface RecordSlice {
  readonly after: LedgerPosition | null;
  readonly last: LedgerPosition;
  readonly limit: number;
}

/** Returns the next rows after a position, oldest first, up to and including the last. */
export function readRecords(ctx: Scoped, filters: UsageRecordFilters, { after, last, limit }: RecordSlice): Promise<UsageRecord[]> {
  return rows(
    ctx.em,
    nextRecords({
      ...filters,
      visible: visibleTo(ctx, UsageEntry, 'e'),
      ...(after ? { afterAt: after.occurredAt, afterId: after.id } : {}),
      last: last.occurredAt,
      lastId: last.id,
      limit,
    }),
  );
}
