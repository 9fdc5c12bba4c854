import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { LiveRunStatus, RunPriority, RunSource } from '../../workflows/contracts/runs/runs.ts';
import { priorityOf } from '../runs/start/conversations.ts';
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

/** Runs that wait for their position in a conversation or for their time do not count as queue age: only an active run could begin. */
async function liveRuns(em: SqlEntityManager): Promise<LiveRuns[]> {
  const found = await rows<Omit<LiveRuns, 'priority'>>(
    em,
    `select status, source, count(*)::int as count,
            (extract(epoch from now() - min(activated_at) filter (where status = 'queued')))::float8 as "oldestReadyS"
       from runs where status in ('queued', 'running', 'waiting', 'cancelling') group by status, source`,
  );
  return found.map((group) => ({ ...group, priority: priorityOf(group.source) }));
}

async function waitingMails(em: SqlEntityManager): Promise<number> {
  const found = await row<{ count: number }>(
    em,
    "select count(*)::int as count from outbox where kind = 'mail' and payload -> 'settled' is null",
  );
  return found?.count ?? 0;
}
