import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql, type SqlBool } from 'kysely';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import { entriesAsRollups, rollupKeys, rollupSums } from './rollups.ts';

/** A workspace that has ledger rows or rollups, with the first and last day (UTC) of either. */
export type LedgerSpan = Awaited<ReturnType<typeof ledgerSpans>>[number];

/** Returns the workspaces of the ledger after an id, with their days. */
export function ledgerSpans(em: SqlEntityManager, after: string | null, limit: number) {
  const ofEntries = query
    .selectFrom('usage_entries')
    .select(({ fn }) => ['organizationId', 'workspaceId', fn.min('occurredAt').as('first'), fn.max('occurredAt').as('last')])
    .groupBy(['organizationId', 'workspaceId']);
  const ofRollups = query
    .selectFrom('usage_rollups')
    .select(({ fn }) => ['organizationId', 'workspaceId', fn.min('bucketStart').as('first'), fn.max('bucketStart').as('last')])
    .groupBy(['organizationId', 'workspaceId']);
  return rows(
    em,
    query
      .selectFrom(ofEntries.unionAll(ofRollups).as('w'))
      .where(sql<SqlBool>`(${after}::uuid is null or w.workspace_id > ${after}::uuid)`)
      .select(['w.organizationId', 'w.workspaceId'])
      .select([
        sql<string>`to_char(min(w.first) at time zone 'utc', 'YYYY-MM-DD')`.as('firstDay'),
        sql<string>`to_char(max(w.last) at time zone 'utc', 'YYYY-MM-DD')`.as('lastDay'),
      ])
      .groupBy(['w.organizationId', 'w.workspaceId'])
      .orderBy('w.workspaceId')
      .limit(limit),
  );
}

export interface RollupDay {
  readonly workspaceId: string;
  /** Day in UTC. */
  readonly day: string;
}

const startOf = ({ day }: RollupDay) => sql<string>`${day}::date at time zone 'utc'`;
const endOf = ({ day }: RollupDay) => sql<string>`(${day}::date + 1) at time zone 'utc'`;

/** What the rollups of a day should be. */
function groupsOf(day: RollupDay) {
  const entries = entriesAsRollups()
    .where('e.workspaceId', '=', day.workspaceId)
    .where('e.occurredAt', '>=', startOf(day))
    .where('e.occurredAt', '<', endOf(day));
  return query
    .selectFrom(entries.as('e'))
    .select([sql<string>`(array_agg(e.id order by e.id))[1]`.as('id'), 'e.organizationId', 'e.workspaceId'])
    .select(['e.bucketStart', 'e.agentId', 'e.model', 'e.kind', 'e.userId', 'e.serviceKeyId', 'e.currency'])
    .select(({ fn }) => [
      fn.sum<number>('e.calls').as('calls'),
      fn.sum<number>('e.inputTokens').as('inputTokens'),
      fn.sum<number>('e.cachedReadTokens').as('cachedReadTokens'),
      fn.sum<number>('e.cachedWriteTokens').as('cachedWriteTokens'),
      fn.sum<number>('e.outputTokens').as('outputTokens'),
      fn.sum<number>('e.reasoningTokens').as('reasoningTokens'),
      fn.sum<string>('e.cost').as('cost'),
      fn.sum<string>('e.estimatedCost').as('estimatedCost'),
    ])
    .groupBy(['e.organizationId', 'e.workspaceId', ...rollupKeys.map((key) => `e.${key}` as const)]);
}

// Keys that are never null use `=`, so that they can be hashed: a busy day has thousands of groups.
const neverNull: ReadonlySet<string> = new Set(['bucketStart', 'kind', 'currency']);

/** Whether a group `g` is that of a rollup. */
function isSameGroup(rollups: 'r' | 'usage_rollups') {
  const same = rollupKeys.map((key) => {
    const equals = neverNull.has(key) ? sql`=` : sql`is not distinct from`;
    return sql`${sql.ref(`g.${key}`)} ${equals} ${sql.ref(`${rollups}.${key}`)}`;
  });
  return sql<SqlBool>`(${sql.join(same, sql` and `)})`;
}

/** Whether a rollup has other sums than its group. */
function hasOtherSums() {
  const sums = (table: string) => sql.join(rollupSums.map((name) => sql.ref(`${table}.${name}`)));
  return sql<SqlBool>`(${sums('usage_rollups')}) is distinct from (${sums('g')})`;
}

/**
 * Makes the rollups of a workspace's day match its ledger; returns how many were wrong. Calls may settle meanwhile: missing rows are created empty first,
 * then all rows are locked, and only then is the ledger read, so that later settlings add to the result. Call it in a transaction of its own.
 */
export async function rebuildDay(em: SqlEntityManager, day: RollupDay): Promise<number> {
  const made = await createMissing(em, day);
  const held = await rows(
    em,
    query
      .selectFrom('usage_rollups as r')
      .where('r.workspaceId', '=', day.workspaceId)
      .where('r.bucketStart', '>=', startOf(day))
      .where('r.bucketStart', '<', endOf(day))
      .select('r.id')
      .orderBy('r.id')
      .forUpdate(),
  );
  const mended = await mend(
    em,
    day,
    held.map(({ id }) => id),
  );
  return Math.max(made, mended);
}

/** Creates the rollups that the ledger lacks, with sums of zero; returns how many. */
function createMissing(em: SqlEntityManager, day: RollupDay): Promise<number> {
  return change(
    em,
    query
      .with('g', () => groupsOf(day))
      .insertInto('usage_rollups')
      .columns(['id', 'organizationId', 'workspaceId', ...rollupKeys])
      .expression((eb) => {
        const groups = eb
          .selectFrom('g')
          .select(['g.id', 'g.organizationId', 'g.workspaceId', ...rollupKeys.map((key) => `g.${key}` as const)]);
        return rollupKeys.reduce((sorted, key) => sorted.orderBy(`g.${key}`), groups);
      })
      .onConflict((conflict) => conflict.columns(['workspaceId', ...rollupKeys]).doNothing()),
  );
}

/** Deletes locked rollups without ledger rows and sets the sums of the others; returns how many were wrong. */
async function mend(em: SqlEntityManager, day: RollupDay, ids: readonly string[]): Promise<number> {
  const mended = await row(
    em,
    query
      .with('g', () => groupsOf(day))
      .with('gone', (of) =>
        of
          .deleteFrom('usage_rollups as r')
          .where(sql<SqlBool>`r.id = any (${ids}::uuid[])`)
          .where(({ exists, not, selectFrom }) => not(exists(selectFrom('g').where(isSameGroup('r')).select('g.id'))))
          .returning('r.id'),
      )
      .with('mended', (of) =>
        of
          .updateTable('usage_rollups')
          .from('g')
          .set(({ ref }) => ({
            calls: ref('g.calls'),
            inputTokens: ref('g.inputTokens'),
            cachedReadTokens: ref('g.cachedReadTokens'),
            cachedWriteTokens: ref('g.cachedWriteTokens'),
            outputTokens: ref('g.outputTokens'),
            reasoningTokens: ref('g.reasoningTokens'),
            cost: ref('g.cost'),
            estimatedCost: ref('g.estimatedCost'),
          }))
          .where(sql<SqlBool>`usage_rollups.id = any (${ids}::uuid[])`)
          .where(isSameGroup('usage_rollups'))
          .where(hasOtherSums())
          .returning('usage_rollups.id'),
      )
      .selectNoFrom(sql<number>`((select count(*) from gone) + (select count(*) from mended))::int`.as('count')),
  );
  return mended?.count ?? 0;
}
