import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Expression, sql, type SqlBool } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change } from '../../sql.ts';

/** Kinds of credentials whose uses are recorded. */
export type MarkedKind = 'session' | 'service_key' | 'oauth_client';

const now = sql<string>`now()`;

type Marked = ParametersOf<{ readonly ids: readonly string[] }>;

// A use is no change of the row: `updatedAt` stays.
const marks = {
  session: prepared(({ ids }: Marked) =>
    query
      .updateTable('sessions')
      .set({ lastSeenAt: now })
      .where(({ ref }) => isDue(ids, ref('lastSeenAt'))),
  ),
  service_key: prepared(({ ids }: Marked) =>
    query
      .updateTable('service_keys')
      .set(({ ref }) => ({ lastUsedAt: now, updatedAt: ref('updatedAt') }))
      .where(({ ref }) => isDue(ids, ref('lastUsedAt'))),
  ),
  oauth_client: prepared(({ ids }: Marked) =>
    query
      .updateTable('oauth_clients')
      .set(({ ref }) => ({ lastUsedAt: now, updatedAt: ref('updatedAt') }))
      .where(({ ref }) => isDue(ids, ref('lastUsedAt'))),
  ),
} as const satisfies Record<MarkedKind, unknown>;

function isDue(ids: Expression<readonly string[]>, markedAt: Expression<string | null>): Expression<SqlBool> {
  return sql<boolean>`(id = any (${ids}::uuid[]) and (${markedAt} is null or ${markedAt} < now() - interval '60 seconds'))`;
}

/** Records a use on rows of a kind. The condition guarantees at most one write per minute, also between processes. Sweeper's pool. */
export async function markSeen(em: SqlEntityManager, kind: MarkedKind, ids: readonly string[]): Promise<void> {
  await change(em, marks[kind]({ ids }));
}
