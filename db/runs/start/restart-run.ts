import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql, type SqlBool } from 'kysely';
import type { AgentRunInput } from '../../../workflows/contracts/runs/agent-run.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import { openStates } from '../calls/call-state.ts';
import { liveStatuses } from '../live.ts';

/** Where a new workflow of a run resumes from its rows. */
export type RestartPoint = Omit<AgentRunInput, 'runId'>;

/**
 * A run whose workflow is to be restarted if Temporal has lost it. `isAtWork`: a live worker may still be executing a try of this run or of a run below it, whose
 * result is worth waiting for.
 */
export type RestartableRun = NonNullable<Awaited<ReturnType<typeof topmostLiveRun>>>;

/** A live worker stores a result within `graceS` of the call's deadline, and a model that is generating sends something within `silentS`. */
const graceS = 10;
const silentS = 30;

/** Whether a try of run `r`, or of a run below it, may still be executed by a live worker. */
const isAtWork = sql<boolean>`exists (
  select from runs d left join run_streams t on t.run_id = d.id
   where d.root_run_id = r.root_run_id and (d.id = r.id or d.lineage @> array[r.id]) and d.status in (${sql.join(liveStatuses)}) and (
     exists (select from tool_calls c where c.run_id = d.id and c.state = 'executing' and not c.client_owned and c.child_run_id is null
       and c.deadline_at > now() - make_interval(secs => ${sql.lit(graceS)}))
     or exists (select from run_steps s where s.run_id = d.id and s.kind = 'model' and s.status = 'running'
       and greatest(s.started_at, t.updated_at) > now() - make_interval(secs => ${sql.lit(silentS)}))))`;

/**
 * Returns the run whose workflow must live for this run to go on: its topmost live ancestor, whose workflow starts the runs below it, or the run itself.
 * Null when it has ended. Sweeper's pool.
 */
export function topmostLiveRun(em: SqlEntityManager, runId: string) {
  return row(
    em,
    query
      .selectFrom('runs as k')
      .innerJoin('runs as r', (join) => join.on(sql<SqlBool>`(r.id = k.id or r.id = any (k.lineage))`))
      .where('k.id', '=', runId)
      .where('r.status', 'in', liveStatuses)
      .select(['r.id', 'r.organizationId', 'r.workspaceId', 'r.agentId', 'r.source', 'r.status', 'r.bindingId'])
      .select(sql<number | null>`(r.review ->> 'pull_number')::int`.as('pullNumber'))
      .select(['r.workflowRestarts as restarts', isAtWork.as('isAtWork')])
      .orderBy('r.depth')
      .limit(1),
  );
}

/**
 * Returns what the workflow of a run needs in order to resume from its rows: the step that was begun last, and the wait before it if the run itself waits
 * and none of its calls does. A run that has not begun starts at its first step.
 */
export async function readRestartPoint(em: SqlEntityManager, runId: string): Promise<RestartPoint> {
  const found = await row(em, restartPoint(runId));
  if (!found) return {};
  const { step, waitingUntil: until, isTimer, budget } = found;
  const from = step > 1 ? { step } : {};
  if (isTimer && until !== null) return { ...from, wait: { on: 'timer', untilMs: new Date(until).getTime() } };
  if (budget === null) return from;
  const { period, needed } = budget;
  return { ...from, wait: { on: 'budget', ...(period ? { fullAt: period } : {}), ...(needed ? { needed } : {}) } };
}

function restartPoint(runId: string) {
  return query
    .selectFrom('runs as r')
    .where('r.id', '=', runId)
    .select('r.waitingUntil')
    .select(sql<number>`coalesce((select max(s.step) from run_steps s where s.run_id = r.id), 1)`.as('step'))
    .select(({ and, eb, exists, not, selectFrom }) =>
      and([
        eb('r.status', '=', 'waiting'),
        eb('r.waitingOn', '=', 'timer'),
        not(exists(selectFrom('tool_calls as c').select('c.id').whereRef('c.runId', '=', 'r.id').where('c.state', 'in', openStates))),
      ])
        .$castTo<boolean>()
        .as('isTimer'),
    )
    .select(({ selectFrom }) =>
      selectFrom('approvals as a')
        .select(sql<{ readonly period?: string; readonly needed?: string }>`a.args`.as('args'))
        .whereRef('a.runId', '=', 'r.id')
        .where('a.reason', '=', 'budget')
        .where('a.status', '=', sql.lit('pending'))
        .orderBy('a.id', 'desc')
        .limit(1)
        .as('budget'),
    );
}
