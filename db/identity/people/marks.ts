import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Expression, sql, type SqlBool } from 'kysely';
import { now } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change } from '../../sql.ts';

/** Kinds of credentials whose uses are recorded. */
export type MarkedKind = 'session' | 'service_key' | 'oauth_client';

type Marked = ParametersOf<{ readonly ids: readonly string[] }>;

const markSession = prepared(({ ids }: Marked) =>
  query
    .updateTable('sessions')
    .set({ lastSeenAt: now })
    .where(({ ref }) => isDue(ids, ref('lastSeenAt'))),
);

// A use is no change of the row: `updatedAt` stays.
const markServiceKey = prepared(({ ids }: Marked) =>
  query
    .updateTable('service_keys')
    .set(({ ref }) => ({ lastUsedAt: now, updatedAt: ref('updatedAt') }))
    .where(({ ref }) => isDue(ids, ref('lastUsedAt'))),
);

const markOauthClient = prepared(({ ids }: Marked) =>
  query
    .updateTable('oauth_clients')
    .set(({ ref }) => ({ lastUsedAt: now, updatedAt: ref('updatedAt') }))
    .where(({ ref }) => isDue(ids, ref('lastUsedAt'))),
);

const marks = { session: markSession, service_key: markServiceKey, oauth_client: markOauthClient };

function isDue(ids: Expression<readonly string[]>, markedAt: Expression<string | null>): Expression<SqlBool> {
  return sql<boolean>`(id = any (${ids}::uuid[]) and (${markedAt} is null or ${markedAt} < now() - interval '60 seconds'))`;
}

/** Records a use on rows of a kind. The condition guarantees at most one write per minute, also between processes. Sweeper's pool. */
export async function markSeen(em: SqlEntityManager, kind: MarkedKind, ids: readonly string[]): Promise<void> {
  await change(em, marks[kind]({ ids }));
}
