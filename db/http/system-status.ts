import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { query } from '../query.ts';
import { row } from '../sql.ts';

/** What the database reports about itself. */
export interface PostgresFacts {
  readonly version: string;
  readonly sizeBytes: number;
  readonly connections: number;
}

export interface OutboxFacts {
  readonly due: number;
  readonly oldestDueAgeS: number | null;
  readonly failing: number;
}

export interface RunFacts {
  readonly queued: number;
  readonly running: number;
  readonly waiting: number;
  readonly cancelling: number;
}

/** For operators: facts of the server, no rows. */
export async function postgresFacts(em: SqlEntityManager): Promise<PostgresFacts> {
  const facts = await row<PostgresFacts>(
    em,
    `select current_setting('server_version') as version, pg_database_size(current_database()) as "sizeBytes",
       (select count(*) from pg_stat_activity where datname = current_database()) as connections`,
  );
  return facts ?? { version: 'unknown', sizeBytes: 0, connections: 0 };
}

/**
 * Outbox rows visible to the caller that should have been sent by now, and the age of the oldest. A try moves `not_before` ahead, so while Temporal is
 * unavailable it does not show how long a row has waited.
 */
export async function outboxFacts(em: SqlEntityManager): Promise<OutboxFacts> {
  const facts = await row<OutboxFacts>(
    em,
    `select count(*) as due, extract(epoch from now() - min(created_at))::int as "oldestDueAgeS", count(*) filter (where attempts > 0) as failing
     from outbox where sent_at is null and (attempts > 0 or not_before <= now())`,
  );
  return facts ?? { due: 0, oldestDueAgeS: null, failing: 0 };
}

/** Runs visible to the caller that have not ended, by status. */
export async function runFacts(em: SqlEntityManager): Promise<RunFacts> {
  const facts = await row<RunFacts>(
    em,
    `select count(*) filter (where status = 'queued') as queued, count(*) filter (where status = 'running') as running,
       count(*) filter (where status = 'waiting') as waiting, count(*) filter (where status = 'cancelling') as cancelling
     from runs where status in ('queued', 'running', 'waiting', 'cancelling')`,
  );
  return facts ?? { queued: 0, running: 0, waiting: 0, cancelling: 0 };
}

/** Returns when a task of the deployment was last done, or null when never. */
export async function markAt(em: SqlEntityManager, name: string): Promise<string | null> {
  const mark = await row(em, query.selectFrom('system_marks as m').select('m.at').where('m.name', '=', name));
  return mark?.at ?? null;
}

/** Whether an organization requires a second factor; false where it is unknown. */
export async function isMfaRequired(em: SqlEntityManager, organizationId: string): Promise<boolean> {
  const settings = await row(
    em,
    query.selectFrom('organization_settings as s').select('s.requireMfa').where('s.organizationId', '=', organizationId),
  );
  return settings?.requireMfa ?? false;
}
