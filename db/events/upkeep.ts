import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { anyOf } from '../expressions.ts';
import { query } from '../query.ts';
import { change } from '../sql.ts';

/** Deletes at most `limit` keys of events past their 24 hours; returns how many. Sweeper's pool. */
export function eraseEventKeys(em: SqlEntityManager, limit: number): Promise<number> {
  const due = query
    .selectFrom('event_keys as x')
    .select(sql`x.ctid`.as('ctid'))
    .where('x.expiresAt', '<', sql<string>`now()`)
    .limit(limit);
  return change(em, query.deleteFrom('event_keys').where(sql<boolean>`ctid = ${anyOf(due)}`));
}

/**
 * Resends the fan-outs of events that should have ended ten minutes ago: Temporal may have lost their workflows. A running workflow is not started twice.
 * Returns how many. Sweeper's pool.
 */
export function resendFanOuts(em: SqlEntityManager): Promise<number> {
  return change(
    em,
    query
      .updateTable('outbox')
      .from('events as e')
      .set({ sentAt: null, notBefore: sql<string>`now()` })
      .where('e.fanOut', '=', sql.lit('pending' as const))
      .where('e.createdAt', '<', sql<string>`now() - interval '10 minutes'`)
      .where('outbox.kind', '=', 'workflow.start')
      .where('outbox.dedupeKey', '=', sql<string>`'event:' || e.id`)
      .where('outbox.sentAt', '<', sql<string>`now() - interval '10 minutes'`),
  );
}
