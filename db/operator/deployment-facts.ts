import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { priorityOf, type LiveRunStatus, type RunPriority, type RunSource } from '../../workflows/contracts/runs/runs.ts';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import { outboxFacts, type OutboxFacts } from '../http/system-status.ts';

/** Runs that have not ended, of one status and source. */
export interface LiveRuns {
  readonly status: LiveRunStatus;
  readonly source: RunSource;
  readonly priority: RunPriority;
  readonly count: number;
  /** Age in seconds of the oldest run that could begin and has not; null when there is none. */
  readonly oldestReadyS: number | null;
}

/** Facts that operators act on and only the database knows. */
export interface DeploymentFacts {
  readonly outbox: OutboxFacts;
  readonly liveRuns: readonly LiveRuns[];
  readonly waitingMails: number;
}

/** Three statements, each on a partial index of the rows that it counts. Sweeper's pool: across all tenants. */
export async function readDeploymentFacts(em: SqlEntityManager): Promise<DeploymentFacts> {
  return { outbox: await outboxFacts(em), liveRuns: await liveRuns(em), waitingMails: await waitingMails(em) };
}

/** In the text, so that the partial index of live runs serves. */
const live = (['queued', 'running', 'waiting', 'cancelling'] as const).map((status) => sql.lit<LiveRunStatus>(status));

/** Runs that wait for their position in a conversation or for their time do not count as queue age: only an active run could begin. */
async function liveRuns(em: SqlEntityManager): Promise<LiveRuns[]> {
  const found = await rows(
    em,
    query
      .selectFrom('runs')
      .where('status', 'in', live)
      .groupBy(['status', 'source'])
      .select(['status', 'source', sql<number>`count(*)::int`.as('count')])
      .select(
        sql<number | null>`(extract(epoch from now() - min(activated_at) filter (where status = 'queued')))::float8`.as('oldestReadyS'),
      )
      .$narrowType<{ status: LiveRunStatus }>(),
  );
  return found.map((group) => ({ ...group, priority: priorityOf(group.source) }));
}

async function waitingMails(em: SqlEntityManager): Promise<number> {
  const found = await row(
    em,
    query
      .selectFrom('outbox')
      .where('kind', '=', sql.lit('mail'))
      .where(sql<boolean>`payload -> 'settled' is null`)
      .select(sql<number>`count(*)::int`.as('count')),
  );
  return found?.count ?? 0;
}
