import { withAdmin } from './template.ts';

/** Tables in which some row, in any column, holds these words. */
export async function tablesHolding(adminUrl: string, words: string): Promise<string[]> {
  return withAdmin(adminUrl, async (client) => {
    const tables = await client.query<{ name: string }>(
      "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
    );
    const found: string[] = [];
    for (const { name } of tables.rows) {
      const text = name === 'idempotency_keys' ? "t::text || coalesce(encode(t.body, 'escape'), '')" : 't::text';
      const { rowCount } = await client.query(`select from ${name} t where strpos(${text}, $1) > 0 limit 1`, [words]);
      if (rowCount) found.push(name);
    }
    return found.toSorted();
  });
}
