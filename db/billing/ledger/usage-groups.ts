import { type Expression, type NotNull, sql } from 'kysely';
import type { Page, PageRequest } from '../../page.ts';
import { query } from '../../query.ts';
import { organizationOf } from '../../caller-scope.ts';
import { visibleTo, type Scoped } from '../../scope.ts';
import { rows } from '../../sql.ts';
import type { usageKinds } from './usage-entry.entity.ts';
import { UsageRollup } from './usage-rollup.entity.ts';

export const usageGroupings = ['day', 'workspace', 'agent', 'model', 'kind', 'user', 'service_key'] as const;
export type UsageGrouping = (typeof usageGroupings)[number];

export interface UsageGroupFilters {
  /** Groups by these, in this order; days are those of `zone`. */
  readonly groupBy: readonly UsageGrouping[];
  /** Quarters of an hour: from ≤ bucket < to. Without `from`, 30 days of the zone up to and including today. */
  readonly from?: string;
  readonly to: string;
  /** The organization's zone unless given. */
  readonly zone?: string;
  readonly workspaceId?: string;
  readonly agentId?: string;
  readonly model?: string;
  readonly kind?: (typeof usageKinds)[number];
  readonly userId?: string;
}

/** The usage of one group in one currency. Keys that are not grouped by are null. */
export type UsageGroup = Omit<Awaited<ReturnType<typeof listUsageGroups>>['items'][number], 'groups'>;

/** Columns of the groups, as the outer query names them. */
const columnOf = {
  day: 'day',
  workspace: 'workspaceId',
  agent: 'agentId',
  model: 'model',
  kind: 'kind',
  user: 'userId',
  service_key: 'serviceKeyId',
} as const satisfies Record<UsageGrouping, string>;

/**
 * Returns the usage visible to the caller, in groups ordered by their keys (days newest first) and then by currency, and the number of groups. One query,
 * over the rollups only. Not prepared: it has a thousand shapes, and reading takes longer than compiling it.
 */
export async function listUsageGroups(ctx: Scoped, filters: UsageGroupFilters, page: PageRequest) {
  const order = [...filters.groupBy.map((grouping) => columnOf[grouping]), 'currency' as const];
  const found = await rows(
    ctx.em,
    query
      .with('z', () => query.selectNoFrom(zoneOf(ctx, filters.zone).as('zone')))
      .with(
        (cte) => cte('groups').materialized(),
        () => groupsOf(ctx, filters),
      )
      .selectFrom((eb) =>
        eb
          .selectFrom('groups')
          .select(sql<number>`count(*)::int`.as('groups'))
          .as('n'),
      )
      .leftJoinLateral(
        (eb) => {
          const sorted = eb
            .selectFrom('groups as g')
            .selectAll('g')
            .limit(page.limit)
            .offset(page.offset ?? 0);
          return order.reduce((sorting, column) => sorting.orderBy(`g.${column}`, column === 'day' ? 'desc' : 'asc'), sorted).as('p');
        },
        (join) => join.onTrue(),
      )
      .select([
        'n.groups',
        'p.day',
        'p.workspaceId',
        'p.agentId',
        'p.model',
        'p.kind',
        'p.userId',
        'p.serviceKeyId',
        'p.currency',
        'p.calls',
      ])
      .select([
        'p.inputTokens',
        'p.cachedReadTokens',
        'p.cachedWriteTokens',
        'p.outputTokens',
        'p.reasoningTokens',
        'p.cost',
        'p.estimatedCost',
      ])
      // Null only in the single row that carries the number of groups of an empty page; that row is removed.
      .$narrowType<{
        currency: NotNull;
        calls: NotNull;
        inputTokens: NotNull;
        cachedReadTokens: NotNull;
        cachedWriteTokens: NotNull;
        outputTokens: NotNull;
        reasoningTokens: NotNull;
        cost: NotNull;
        estimatedCost: NotNull;
      }>(),
  );
  return { items: found.filter(({ currency }) => currency !== null), next: null, total: found[0]?.groups ?? 0 } satisfies Page<unknown>;
}

function zoneOf(ctx: Scoped, zone: string | undefined) {
  if (zone !== undefined) return sql<string>`${zone}::text`;
  return sql<string>`coalesce((select timezone from organizations where id = ${organizationOf(ctx.caller)}::uuid), 'UTC')`;
}

function groupsOf(ctx: Scoped, filters: UsageGroupFilters) {
  const { groupBy, from, to, workspaceId, agentId, model, kind, userId } = filters;
  // Each bound is a single value, known before the scan, so an index can use it.
  const firstDay = sql<string>`(select ((${to}::timestamptz - interval '1 millisecond') at time zone z.zone)::date - 29 from z)::timestamp`;
  const start = from === undefined ? sql<string>`(${firstDay} at time zone (select z.zone from z))` : sql<string>`${from}::timestamptz`;
  let used = query
    .selectFrom('usage_rollups as u')
    .where(visibleTo(ctx, UsageRollup, 'u'))
    .where('u.bucketStart', '>=', start)
    .where('u.bucketStart', '<', sql<string>`${to}::timestamptz`);
  if (workspaceId !== undefined) used = used.where('u.workspaceId', '=', workspaceId);
  if (agentId !== undefined) used = used.where('u.agentId', '=', agentId);
  if (model !== undefined) used = used.where('u.model', '=', model);
  if (kind !== undefined) used = used.where('u.kind', '=', kind);
  if (userId !== undefined) used = used.where('u.userId', '=', userId);

  const has = (grouping: UsageGrouping) => groupBy.includes(grouping);
  return (
    used
      .select(({ ref }) => {
        const key = <T>(grouping: UsageGrouping, column: Expression<T>) => (has(grouping) ? sql<T | null>`${column}` : sql<T | null>`null`);
        return [
          key('day', sql<string>`((u.bucket_start at time zone (select z.zone from z))::date)::text`).as('day'),
          key('workspace', ref('u.workspaceId')).as('workspaceId'),
          key('agent', ref('u.agentId')).as('agentId'),
          key('model', ref('u.model')).as('model'),
          key('kind', ref('u.kind')).as('kind'),
          key('user', ref('u.userId')).as('userId'),
          key('service_key', ref('u.serviceKeyId')).as('serviceKeyId'),
          'u.currency',
          sql<number>`sum(u.calls)::bigint`.as('calls'),
          sql<number>`sum(u.input_tokens)::bigint`.as('inputTokens'),
          sql<number>`sum(u.cached_read_tokens)::bigint`.as('cachedReadTokens'),
          sql<number>`sum(u.cached_write_tokens)::bigint`.as('cachedWriteTokens'),
          sql<number>`sum(u.output_tokens)::bigint`.as('outputTokens'),
          sql<number>`sum(u.reasoning_tokens)::bigint`.as('reasoningTokens'),
          sql<string>`sum(u.cost)`.as('cost'),
          sql<string>`sum(u.estimated_cost)`.as('estimatedCost'),
        ];
      })
      // By position, since the day is not a column: 1 to 7 are the keys, 8 is the currency.
      .groupBy([...usageGroupings.flatMap((grouping, at) => (has(grouping) ? [sql`${sql.lit(at + 1)}`] : [])), sql`8`])
  );
}
