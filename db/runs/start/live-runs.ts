import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Live runs a workspace may have at a time. What starts at the same moment does not see each other: the last starts may come out a little above. */
export const maxLiveRuns = 20_000;

const countSql = `
  select w.id, (
      select count(*)::int from (
        select from runs r where r.workspace_id = w.id and r.status in ('queued', 'running', 'waiting', 'cancelling') limit ${maxLiveRuns}
      ) live) as live_runs
    from unnest(?::uuid[]) as w (id)`;

/** Counting costs the more the more there are. A count up to here stands for a while: not even starts at full speed make up the rest in it. */
const farBelowLimit = maxLiveRuns / 2;
const standsMs = 1_000;
const maxRemembered = 10_000;

interface Count {
  readonly liveRuns: number;
  readonly standsUntil: number;
}

/** The last counts of this process, by workspace. */
const counts = new Map<string, Count>();

/** How many live runs workspaces have: in one statement, or in none where they were few within the last second. */
export async function countLiveRuns(tx: TenantTransaction, workspaceIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const known = new Map<string, number>();
  for (const id of workspaceIds) {
    const count = counts.get(id);
    if (count && count.liveRuns <= farBelowLimit && count.standsUntil > performance.now()) known.set(id, count.liveRuns);
  }
  const due = workspaceIds.filter((id) => !known.has(id));
  if (due.length === 0) return known;

  const counted = await rows<{ id: string; live_runs: number }>(tx.em, countSql, [due]);
  if (counts.size + due.length > maxRemembered) counts.clear();
  for (const { id, live_runs: liveRuns } of counted) {
    counts.set(id, { liveRuns, standsUntil: performance.now() + standsMs });
    known.set(id, liveRuns);
  }
  return known;
}
