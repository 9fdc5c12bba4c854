import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { change, rows } from '../sql.ts';

/** Deletes at most `limit` alerts that were resolved more than 400 days ago, with their transitions and notices; returns how many. Sweeper's pool. */
export async function sweepResolvedAlerts(em: SqlEntityManager, limit: number): Promise<number> {
  // Separate statements: within one statement, the foreign keys would still see the rows that it deletes.
  const due = await rows(
    em,
    query
      .selectFrom('alerts')
      .select('id')
      .where('resolvedAt', '<', sql<string>`now() - interval '400 days'`)
      .orderBy('resolvedAt')
      .limit(limit),
  );
  if (due.length === 0) return 0;
  const ids = due.map(({ id }) => id);
  await change(em, query.deleteFrom('alert_deliveries').where(sql<boolean>`alert_id = any (${ids}::uuid[])`));
  await change(em, query.deleteFrom('alert_transitions').where(sql<boolean>`alert_id = any (${ids}::uuid[])`));
  await change(em, query.deleteFrom('alerts').where(sql<boolean>`id = any (${ids}::uuid[])`));
  return ids.length;
}

/**
 * Resends the starts of deliveries whose try is ten minutes overdue: Temporal may have lost their workflows. A running workflow is not started twice. Returns
 * how many. Sweeper's pool.
 */
export function resendDeliveries(em: SqlEntityManager): Promise<number> {
  return change(
    em,
    query
      .updateTable('outbox')
      .from('alert_deliveries as d')
      .set({ sentAt: null, notBefore: sql<string>`now()` })
      // In the text, so that the partial index of open deliveries serves.
      .where('d.status', 'in', [sql.lit('queued' as const), sql.lit('failed' as const)])
      .where(sql<boolean>`coalesce(d.next_attempt_at, d.created_at) < now() - interval '10 minutes'`)
      .where('outbox.kind', '=', 'workflow.start')
      .where('outbox.dedupeKey', '=', sql<string>`'delivery:' || d.id`)
      .where('outbox.sentAt', '<', sql<string>`now() - interval '10 minutes'`),
  );
}
