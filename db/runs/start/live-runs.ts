import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { liveStatuses } from '../live.ts';

/** How many live runs a workspace may have at a time. Simultaneous starts do not see each other, so the number may end up slightly above it. */
export const maxLiveRuns = 20_000;

const liveRunsOf = prepared(({ workspaceIds }: ParametersOf<{ readonly workspaceIds: readonly string[] }>) => {
  const live = query
    .selectFrom('runs as r')
    .select(sql.lit(1).as('one'))
    .where('r.workspaceId', '=', sql.ref<string>('w.id'))
    .where('r.status', 'in', liveStatuses)
    .limit(sql.lit(maxLiveRuns));
  return query
    .selectFrom(sql<{ id: string }>`unnest(${workspaceIds}::uuid[])`.as<'w'>(sql`w (id)`))
    .select('w.id')
    .select(sql<number>`(select count(*)::int from ${live} live)`.as('liveRuns'));
});

/**
 * The more live runs there are, the more counting them costs. A count up to this value stays valid for `standsMs`: even starts at full speed cannot reach
 * the limit in that time.
 */
const farBelowLimit = maxLiveRuns / 2;
const standsMs = 1_000;
const maxRemembered = 10_000;

interface Count {
  readonly liveRuns: number;
  readonly standsUntil: number;
}

/** The latest counts of this process, by workspace. */
const counts = new Map<string, Count>();

/** Counts the live runs of workspaces: in one statement, or in none where there were few within the last second. */
export async function countLiveRuns(tx: TenantTransaction, workspaceIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const known = new Map<string, number>();
  for (const id of workspaceIds) {
    const count = counts.get(id);
    if (count && count.liveRuns <= farBelowLimit && count.standsUntil > performance.now()) known.set(id, count.liveRuns);
  }
  const due = workspaceIds.filter((id) => !known.has(id));
  if (due.length === 0) return known;

  const counted = await rows(tx.em, liveRunsOf({ workspaceIds: due }));
  if (counts.size + due.length > maxRemembered) counts.clear();
  for (const { id, liveRuns } of counted) {
    counts.set(id, { liveRuns, standsUntil: performance.now() + standsMs });
    known.set(id, liveRuns);
  }
  return known;
}
