import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change, row, rows } from '../../sql.ts';
import { rollupKeys, rollupKeySql, rollupSums } from './rollups.ts';

/** A workspace that has ledger rows or rollups, with the first and last day (UTC) of either. */
export interface LedgerSpan {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly firstDay: string;
  readonly lastDay: string;
}

/** Returns the workspaces of the ledger after an id, with their days. */
export function ledgerSpans(em: SqlEntityManager, after: string | null, limit: number): Promise<LedgerSpan[]> {
  return rows<LedgerSpan>(
    em,
    `select w.organization_id as "organizationId", w.workspace_id as "workspaceId", to_char(min(w.first) at time zone 'utc', 'YYYY-MM-DD') as "firstDay",
            to_char(max(w.last) at time zone 'utc', 'YYYY-MM-DD') as "lastDay"
       from (select organization_id, workspace_id, min(occurred_at) as first, max(occurred_at) as last from usage_entries group by 1, 2
             union all select organization_id, workspace_id, min(bucket_start), max(bucket_start) from usage_rollups group by 1, 2) w
      where ?::uuid is null or w.workspace_id > ?::uuid
      group by 1, 2 order by 2 limit ?`,
    [after, after, limit],
  );
}

export interface RollupDay {
  readonly workspaceId: string;
  /** Day in UTC. */
  readonly day: string;
}

const names = Object.keys(rollupSums);
const entriesOfDay = `from usage_entries e where e.workspace_id = ?::uuid and e.occurred_at >= ?::date at time zone 'utc' and e.occurred_at < (?::date + 1) at time zone 'utc'`;
const groupsSql = `select (array_agg(e.id order by e.id))[1] as id, e.organization_id, e.workspace_id, ${rollupKeySql}, ${Object.entries(
  rollupSums,
)
  .map(([name, sum]) => `sum(${sum}) as ${name}`)
  .join(', ')}
  ${entriesOfDay} group by e.organization_id, e.workspace_id, 4, 5, 6, 7, 8, 9, 10`;
const keyed = `(id, organization_id, workspace_id, ${rollupKeys.join(', ')}, ${names.join(', ')})`;
// Keys that are never null use `=`, so that they can be hashed: a busy day has thousands of groups.
const neverNull: ReadonlySet<string> = new Set(['bucket_start', 'kind', 'currency']);
const isSameGroup = rollupKeys.map((key) => `g.${key} ${neverNull.has(key) ? '=' : 'is not distinct from'} r.${key}`).join(' and ');

/**
 * Makes the rollups of a workspace's day match its ledger; returns how many were wrong. Calls may settle meanwhile: missing rows are created empty first,
 * then all rows are locked, and only then is the ledger read, so that later settlings add to the result. Call it in a transaction of its own.
 */
export async function rebuildDay(em: SqlEntityManager, { workspaceId, day }: RollupDay): Promise<number> {
  const place = [workspaceId, day, day];
  const made = await change(
    em,
    `with g ${keyed} as (${groupsSql})
     insert into usage_rollups (id, organization_id, workspace_id, ${rollupKeys.join(', ')})
     select id, organization_id, workspace_id, ${rollupKeys.join(', ')} from g order by ${rollupKeys.join(', ')}
     on conflict (workspace_id, ${rollupKeys.join(', ')}) do nothing`,
    place,
  );
  const held = await rows<{ id: string }>(
    em,
    `select id from usage_rollups r where r.workspace_id = ? and r.bucket_start >= ?::date at time zone 'utc' and r.bucket_start < (?::date + 1) at time zone 'utc'
      order by id for update`,
    place,
  );
  const ids = held.map(({ id }) => id);
  const mended = await row<{ count: number }>(
    em,
    `with g ${keyed} as (${groupsSql}),
     gone as (delete from usage_rollups r where r.id = any (?::uuid[]) and not exists (select from g where ${isSameGroup}) returning 1),
     mended as (
       update usage_rollups r set ${names.map((name) => `${name} = g.${name}`).join(', ')} from g
        where r.id = any (?::uuid[]) and ${isSameGroup} and (${names.map((name) => `r.${name}`).join(', ')}) is distinct from (${names.map((name) => `g.${name}`).join(', ')})
       returning 1)
     select ((select count(*) from gone) + (select count(*) from mended))::int as count`,
    [...place, ids, ids],
  );
  return Math.max(made, mended?.count ?? 0);
}
