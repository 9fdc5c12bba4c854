import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Returns how often a rule was tested within the last minute, and in how many seconds the oldest of these tests is a minute old. */
export async function countTests(tx: Pick<TenantTransaction, 'em'>, ruleId: string): Promise<{ tests: number; freeInS: number }> {
  const counted = await row(
    tx.em,
    query
      .selectFrom('alert_deliveries')
      .where('ruleId', '=', ruleId)
      .where('event', '=', 'test')
      .where('createdAt', '>', sql<string>`clock_timestamp() - interval '60 seconds'`)
      .select([
        sql<number>`count(distinct seq)::int`.as('tests'),
        sql<number>`greatest(1, ceil(extract(epoch from min(created_at) + interval '60 seconds' - clock_timestamp())))::int`.as('freeInS'),
      ]),
  );
  return counted ?? { tests: 0, freeInS: 0 };
}

/** Returns the number of the next test of a rule, which the caller has locked. */
export async function nextTestSeq(tx: Pick<TenantTransaction, 'em'>, ruleId: string): Promise<number> {
  const found = await row(
    tx.em,
    query
      .selectFrom('alert_deliveries')
      .where('ruleId', '=', ruleId)
      .where('event', '=', 'test')
      .select(sql<number>`coalesce(max(seq), 0) + 1`.as('seq')),
  );
  return found?.seq ?? 1;
}

export type TestDelivery = Awaited<ReturnType<typeof readTestDeliveries>>[number];

const testDeliveries = prepared(({ ids }: ParametersOf<{ readonly ids: string }>) =>
  query
    .selectFrom('alert_deliveries as d')
    .where(({ eb, ref }) => eb(ref('d.id'), '=', sql<string>`any (${ids}::uuid[])`))
    .select(['d.id', 'd.status', 'd.lastStatus', 'd.lastError', 'd.latencyMs']),
);

/** Returns the current outcome of some deliveries. */
export function readTestDeliveries(tx: Pick<TenantTransaction, 'em'>, ids: readonly string[]) {
  return rows(tx.em, testDeliveries({ ids: `{${ids.join(',')}}` }));
}
