import { until } from '../support/temporal.ts';
import type { Rows } from './world/rows.ts';

/**
 * One checksum for each table: of all its rows, or of those of one organization. Marks of use are written beside requests and left out; that
 * an outbox row has been sent is noted after the reply and waited for.
 */
export async function checksums(rows: Rows, organizationId: string | null = null): Promise<Readonly<Record<string, string>>> {
  await until(async () => (await unsent(rows)).length === 0).catch(async (cause: unknown) => {
    throw new Error(`not sent: ${(await unsent(rows)).map(({ row }) => row).join('; ')}`, { cause });
  });
  const tables = await rows.query<{ name: string }>(
    `select c.table_name as name from information_schema.columns c where c.table_schema = 'public' and c.column_name = 'organization_id'
     union select 'organizations' order by 1`,
  );
  const sums = tables.map(({ name }) => {
    const own = `t.${name === 'organizations' ? 'id' : 'organization_id'} = '${organizationId}'`;
    return `select '${name}' as name, count(*) || ':' || md5(coalesce(string_agg(row, E'\\n' order by row), '')) as sum
      from (select (to_jsonb(t) - '{last_seen_at,last_used_at}'::text[])::text as row from "${name}" t where ${organizationId === null ? 'true' : own}) r`;
  });
  const found = await rows.query<{ name: string; sum: string }>(sums.join(' union all '));
  return Object.fromEntries(found.map(({ name, sum }) => [name, sum]));
}

const unsent = (rows: Rows) =>
  rows.query<{ row: string }>(
    `select concat_ws(' ', kind, payload ->> 'workflowType', last_error) as row from outbox where sent_at is null order by id limit 5`,
  );

/** Tables whose checksums are not the same. */
export function differing(before: Readonly<Record<string, string>>, after: Readonly<Record<string, string>>): string[] {
  return Object.keys(after).filter((table) => before[table] !== after[table]);
}
