import pg from 'pg';

/** A column that holds times about an instant, and how many. */
export interface TimesAbout {
  readonly column: string;
  readonly count: number;
}

interface Column {
  readonly table_name: string;
  readonly column_name: string;
}

/**
 * Which columns of a database hold times within `marginMs` of so many milliseconds from now. Rows of its migrations, which the template of all databases of a
 * run of tests has held since its beginning, don't count.
 */
export async function timesAbout(
  adminUrl: string,
  { offsetMs, marginMs }: Readonly<Record<'offsetMs' | 'marginMs', number>>,
): Promise<TimesAbout[]> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rows: columns } = await client.query<Column>(
      `select c.table_name, c.column_name from information_schema.columns c
         join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name and t.table_type = 'BASE TABLE'
        where c.table_schema = 'public' and c.data_type like 'timestamp%'`,
    );
    const counts = columns.map(
      ({ table_name: table, column_name: column }) =>
        `select '${table}.${column}' as column, count(*)::int as count from "${table}"
          where abs(extract(epoch from "${column}" - now()) * 1000 - ${offsetMs}) < ${marginMs}
            and abs(extract(epoch from "${column}" - (select max(executed_at) from schema_migrations))) > 60 having count(*) > 0`,
    );
    const { rows } = await client.query<TimesAbout>(counts.join(' union all '));
    return rows.toSorted((left, right) => left.column.localeCompare(right.column));
  } finally {
    await client.end();
  }
}
