import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change } from '../../sql.ts';

/** Kinds of credentials whose uses are recorded. */
export type MarkedKind = 'session' | 'service_key' | 'oauth_client';

const markedColumns = {
  session: ['sessions', 'last_seen_at'],
  service_key: ['service_keys', 'last_used_at'],
  oauth_client: ['oauth_clients', 'last_used_at'],
} as const satisfies Record<MarkedKind, readonly [table: string, column: string]>;

/** Records a use on rows of a kind. The condition guarantees at most one write per minute, also between processes. Sweeper's pool. */
export async function markSeen(em: SqlEntityManager, kind: MarkedKind, ids: readonly string[]): Promise<void> {
  const [table, column] = markedColumns[kind];
  await change(
    em,
    `update ${table} set ${column} = now() where id = any (?::uuid[]) and (${column} is null or ${column} < now() - interval '60 seconds')`,
    [ids],
  );
}
