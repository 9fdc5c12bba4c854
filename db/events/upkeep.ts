import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change } from '../sql.ts';

/** Deletes at most `limit` keys of events past their 24 hours; returns how many. Sweeper's pool. */
export function eraseEventKeys(em: SqlEntityManager, limit: number): Promise<number> {
  return change(em, 'delete from event_keys where ctid = any (array(select x.ctid from event_keys x where x.expires_at < now() limit ?))', [
    limit,
  ]);
}

/**
 * Resends the fan-outs of events that should have ended ten minutes ago: Temporal may have lost their workflows. A running workflow is not started twice.
 * Returns how many. Sweeper's pool.
 */
export function resendFanOuts(em: SqlEntityManager): Promise<number> {
  return change(
    em,
    `update outbox o set sent_at = null, not_before = now() from events e
      where e.fan_out = 'pending' and e.created_at < now() - interval '10 minutes'
        and o.kind = 'workflow.start' and o.dedupe_key = 'event:' || e.id and o.sent_at < now() - interval '10 minutes'`,
    [],
  );
}
