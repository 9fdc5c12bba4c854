import { sql } from 'kysely';
import { query } from '../query.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { NamingRow } from './nearest-secret.ts';

/** Returns those of the given names that have a value which a row would use: from its workspace or its organization, never from a scope wider than its own. */
export async function namesWithValue(
  tx: Pick<TenantTransaction, 'em'>,
  { names, row: naming }: { readonly names: readonly string[]; readonly row: Omit<NamingRow, 'toolId'> },
): Promise<Set<string>> {
  if (names.length === 0) return new Set();
  const { organizationId, workspaceId, scope } = naming;
  const found = await rows(
    tx.em,
    query
      .selectFrom('secrets as s')
      .where('s.toolId', 'is', null)
      .where('s.valueVersion', '>', 0)
      .where('s.organizationId', '=', organizationId)
      .where(({ eb, ref }) =>
        eb(ref('s.name'), '=', sql<string>`any (${`{${names.map((name) => JSON.stringify(name)).join(',')}}`}::text[])`),
      )
      .where(({ eb, or, and }) =>
        or([
          ...(workspaceId === null ? [] : [and([eb('s.scope', '=', 'workspace'), eb('s.workspaceId', '=', workspaceId)])]),
          ...(scope === 'workspace' ? [] : [eb('s.scope', '=', 'organization')]),
        ]),
      )
      .select('s.name'),
  );
  return new Set(found.map(({ name }) => name));
}
