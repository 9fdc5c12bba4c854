import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { liveRunStatuses } from '../../workflows/contracts/runs/runs.ts';
import { literals, now } from '../expressions.ts';
import { query } from '../query.ts';
import { row } from '../sql.ts';

export type OutboxFacts = Awaited<ReturnType<typeof outboxFacts>>;

/** For operators: facts of the server, no rows. */
export async function postgresFacts(em: SqlEntityManager) {
  const facts = await row(
    em,
    query.selectNoFrom([
      sql<string>`current_setting('server_version')`.as('version'),
      sql<number>`pg_database_size(current_database())`.as('sizeBytes'),
      sql<number>`(select count(*) from pg_stat_activity where datname = current_database())`.as('connections'),
    ]),
  );
  return facts ?? { version: 'unknown', sizeBytes: 0, connections: 0 };
}

/**
 * Outbox rows visible to the caller that should have been sent by now, and the age of the oldest. A try moves `not_before` ahead, so while Temporal is
 * unavailable it does not show how long a row has waited.
 */
export async function outboxFacts(em: SqlEntityManager) {
  const facts = await row(
    em,
    query
      .selectFrom('outbox as m')
      .select(({ fn, ref }) => [
        fn.countAll<number>().as('due'),
        sql<number | null>`extract(epoch from now() - min(${ref('m.createdAt')}))::int`.as('oldestDueAgeS'),
        fn.countAll<number>().filterWhere('m.attempts', '>', 0).as('failing'),
      ])
      .where('m.sentAt', 'is', null)
      .where(({ eb, or }) => or([eb('m.attempts', '>', 0), eb('m.notBefore', '<=', now)])),
  );
  return facts ?? { due: 0, oldestDueAgeS: null, failing: 0 };
}

/** Runs visible to the caller that have not ended, by status. */
export async function runFacts(em: SqlEntityManager) {
  const facts = await row(
    em,
    query
      .selectFrom('runs as r')
      .select(({ fn }) => [
        fn.countAll<number>().filterWhere('r.status', '=', 'queued').as('queued'),
        fn.countAll<number>().filterWhere('r.status', '=', 'running').as('running'),
        fn.countAll<number>().filterWhere('r.status', '=', 'waiting').as('waiting'),
        fn.countAll<number>().filterWhere('r.status', '=', 'cancelling').as('cancelling'),
      ])
      .where('r.status', 'in', literals(...liveRunStatuses)),
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
