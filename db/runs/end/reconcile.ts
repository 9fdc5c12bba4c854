import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Expression, sql } from 'kysely';
import { anyId, literals } from '../../expressions.ts';
import { liveStatuses } from '../live.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';

/** What the reconciler needs to know of a run to repair it. All queries here cross tenants, so they run as the sweeper role only. */
export type ReconcilableRun = Awaited<ReturnType<typeof silentRuns>>[number];

export type FreeConversation = Awaited<ReturnType<typeof freeConversations>>[number];

/** Value of `reconciled_at` that makes a run due at once. */
export const dueNow = 'epoch';

function selectReconcilable() {
  return query
    .selectFrom('runs as r')
    .select(['r.id', 'r.organizationId', 'r.workspaceId', 'r.agentId', 'r.source', 'r.status', 'r.bindingId'])
    .select(({ ref }) => sql<number | null>`(${ref('r.review')} ->> 'pull_number')::int`.as('pullNumber'));
}

/** The run has no live parent. A live parent's workflow starts the workflow of a child that waits to begin. */
function isOwnStart(parentRunId: Expression<string | null>) {
  return sql<boolean>`not exists (select from runs p where p.id = ${parentRunId} and p.status in (${sql.join(liveStatuses)}))`;
}

type Limited = ParametersOf<{ readonly limit: number }>;

const silent = prepared(({ limit }: Limited) =>
  selectReconcilable()
    .leftJoin('run_streams as s', 's.runId', 'r.id')
    .where('r.status', 'in', liveStatuses)
    .where(({ and, eb, or, ref }) =>
      or([eb('r.status', '<>', sql.lit('queued')), and([eb('r.activatedAt', 'is not', null), isOwnStart(ref('r.parentRunId'))])]),
    )
    .where(({ eb, or }) =>
      or([
        eb('r.reconciledAt', '=', sql.lit(dueNow)),
        sql<boolean>`greatest(r.updated_at, s.updated_at, r.reconciled_at)
            < now() - case r.status when 'waiting' then interval '10 minutes' else interval '30 seconds' end`,
      ]),
    )
    .orderBy(({ fn }) => fn.coalesce('r.reconciledAt', 'r.updatedAt'))
    .limit(limit),
);

/** Returns live runs that should have a workflow but gave no sign of life for 30 s (10 min while waiting), longest unseen first. */
export function silentRuns(em: SqlEntityManager, limit: number) {
  return rows(em, silent({ limit }));
}

type Among = ParametersOf<{ readonly runIds: readonly string[] }>;

const liveAmong = prepared(({ runIds }: Among) =>
  selectReconcilable().where('r.id', '=', anyId(runIds)).where('r.status', 'in', liveStatuses),
);

/** Returns those of these runs that are live. */
export function liveRunsAmong(em: SqlEntityManager, runIds: readonly string[]): Promise<ReconcilableRun[]> {
  return rows(em, liveAmong({ runIds }));
}

const endedAmong = prepared(({ runIds }: Among) =>
  query
    .selectFrom('runs as r')
    .select('r.id')
    .where('r.id', '=', anyId(runIds))
    .where('r.finishedAt', '<', sql<string>`now() - interval '1 minute'`),
);

/** Returns those of these runs that ended more than a minute ago. */
export async function endedRunsAmong(em: SqlEntityManager, runIds: readonly string[]): Promise<string[]> {
  return (await rows(em, endedAmong({ runIds }))).map((run) => run.id);
}

const free = prepared(({ limit }: Limited) =>
  query
    .selectFrom('conversations')
    .select(['id', 'organizationId', 'workspaceId'])
    .where('activeRunId', 'is', null)
    .where('queueLength', '>', sql.lit(0))
    .limit(limit),
);

/** Returns conversations without an active run although runs are queued. */
export function freeConversations(em: SqlEntityManager, limit: number) {
  return rows(em, free({ limit }));
}

const overdue = prepared(({ limit }: Limited) =>
  selectReconcilable()
    .where(
      sql<boolean>`((r.status in ('running', 'cancelling') and now() - interval '1 minute' >
          least(r.hard_deadline_at, r.started_at + make_interval(secs => (r.limits ->> 'max_duration_s')::int) + r.waited_ms * interval '1 millisecond'))
         or (r.status = 'waiting' and now() - interval '1 minute' > r.hard_deadline_at))`,
    )
    .limit(limit),
);

/**
 * Returns runs whose time ran out over a minute ago without their workflow ending them: for a working run by the time that `remainingMs` computes, for a
 * waiting run by the hard deadline, which no wait outlives.
 */
export function overdueRuns(em: SqlEntityManager, limit: number): Promise<ReconcilableRun[]> {
  return rows(em, overdue({ limit }));
}

const late = prepared(({ limit }: Limited) => {
  const aMinuteAgo = sql<string>`now() - interval '1 minute'`;
  return selectReconcilable()
    .where('r.status', 'in', literals('running', 'waiting'))
    .where('r.id', 'in', ({ selectFrom }) =>
      selectFrom('approvals as a')
        .select('a.runId as id')
        .where('a.status', '=', sql.lit('pending'))
        .where('a.expiresAt', '<', aMinuteAgo)
        .unionAll(
          selectFrom('runs as w').select('w.id').where('w.status', '=', sql.lit('waiting')).where('w.waitingUntil', '<', aMinuteAgo),
        ),
    )
    .limit(limit);
});

/** Returns live runs with a wait that ended over a minute ago without their workflow noticing. */
export function lateWaits(em: SqlEntityManager, limit: number): Promise<ReconcilableRun[]> {
  return rows(em, late({ limit }));
}

const due = prepared(({ limit }: Limited) =>
  query
    .selectFrom('runs as r')
    .select(['r.id', 'r.organizationId', 'r.workspaceId', 'r.agentId', 'r.source'])
    .where('r.status', '=', sql.lit('queued'))
    .where('r.queueNo', 'is', null)
    .where('r.activatedAt', 'is', null)
    .where('r.startAfter', '<', sql<string>`now() - interval '30 seconds'`)
    .orderBy('r.startAfter')
    .limit(limit),
);

/** Returns delayed runs whose workflow should have started half a minute ago. Sweeper role only. */
export function dueRuns(em: SqlEntityManager, limit: number) {
  return rows(em, due({ limit }));
}
