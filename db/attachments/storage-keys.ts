import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { rows } from '../sql.ts';

/** Returns keys of an organization's attachments outside its own storage prefix: those of operators who did not say where they worked. */
export async function keysElsewhere(em: SqlEntityManager, organizationId: string, place: string): Promise<string[]> {
  const found = await rows(
    em,
    query
      .selectFrom('attachments as a')
      .select('a.storageKey')
      .where('a.organizationId', '=', organizationId)
      .where(sql<boolean>`not starts_with(a.storage_key, ${place})`),
  );
  return found.map(({ storageKey }) => storageKey);
}

/** Returns those of the keys that no row names; the bytes of a rejected row are meant to be deleted. Sweeper's pool. */
export async function keysWithoutRow(em: SqlEntityManager, keys: readonly string[]): Promise<string[]> {
  const found = await rows(
    em,
    query
      .selectFrom(sql<{ key: string }>`unnest(${keys}::text[])`.as<'k'>(sql`k (key)`))
      .select('k.key')
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('attachments as a').whereRef('a.storageKey', '=', 'k.key').where('a.state', '<>', 'rejected'))),
      ),
  );
  return found.map(({ key }) => key);
}
