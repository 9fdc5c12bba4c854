import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change, row } from '../sql.ts';

/** Deletes at most `limit` alerts that were resolved more than 400 days ago, with their transitions and notices; returns how many. Sweeper's pool. */
export async function sweepResolvedAlerts(em: SqlEntityManager, limit: number): Promise<number> {
  // Separate statements: within one statement, the foreign keys would still see the rows that it deletes.
  const due = await row<{ ids: string[] }>(
    em,
    `select coalesce(array_agg(id), '{}') as ids from (select id from alerts where resolved_at < now() - interval '400 days' order by resolved_at limit ?) d`,
    [limit],
  );
  const ids = due?.ids ?? [];
  if (ids.length === 0) return 0;
  for (const table of ['alert_deliveries', 'alert_transitions'])
    await row(em, `delete from ${table} where alert_id = any (?::uuid[])`, [ids]);
  await row(em, 'delete from alerts where id = any (?::uuid[])', [ids]);
  return ids.length;
}

/**
 * Resends the starts of deliveries whose try is ten minutes overdue: Temporal may have lost their workflows. A running workflow is not started twice. Returns
 * how many. Sweeper's pool.
 */
export function resendDeliveries(em: SqlEntityManager): Promise<number> {
  return change(
    em,
    `update outbox o set sent_at = null, not_before = now() from alert_deliveries d
      where d.status in ('queued', 'failed') and coalesce(d.next_attempt_at, d.created_at) < now() - interval '10 minutes'
        and o.kind = 'workflow.start' and o.dedupe_key = 'delivery:' || d.id and o.sent_at < now() - interval '10 minutes'`,
    [],
  );
}
