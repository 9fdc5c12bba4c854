import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { AgentRunInput } from '../../../workflows/contracts/runs/agent-run.ts';
import { row } from '../../sql.ts';
import { openStates } from '../calls/call-state.ts';
import { reconcilableColumns, type ReconcilableRun } from '../end/reconcile.ts';

/** Where a new workflow of a run resumes from its rows. */
export type RestartPoint = Omit<AgentRunInput, 'runId'>;

/** A run whose workflow is to be restarted if Temporal has lost it. */
export interface RestartableRun extends ReconcilableRun {
  readonly restarts: number;
  /** A live worker may still be executing a try of this run or of a run below it: its result is worth waiting for. */
  readonly is_at_work: boolean;
}

/** A live worker stores a result within `graceS` of the call's deadline, and a model that is generating sends something within `silentS`. */
const graceS = 10;
const silentS = 30;

const liveSql = "('queued', 'running', 'waiting', 'cancelling')";

const atWorkSql = `exists (
  select from runs d left join run_streams t on t.run_id = d.id
   where d.root_run_id = r.root_run_id and (d.id = r.id or d.lineage @> array[r.id]) and d.status in ${liveSql} and (
     exists (select from tool_calls c where c.run_id = d.id and c.state = 'executing' and not c.client_owned and c.child_run_id is null
       and c.deadline_at > now() - interval '${graceS} seconds')
     or exists (select from run_steps s where s.run_id = d.id and s.kind = 'model' and s.status = 'running'
       and greatest(s.started_at, t.updated_at) > now() - interval '${silentS} seconds')))`;

/**
 * Returns the run whose workflow must live for this run to go on: its topmost live ancestor, whose workflow starts the runs below it, or the run itself.
 * Null when it has ended. Sweeper's pool.
 */
export function topmostLiveRun(em: SqlEntityManager, runId: string): Promise<RestartableRun | null> {
  return row<RestartableRun>(
    em,
    `select ${reconcilableColumns}, r.workflow_restarts as restarts, ${atWorkSql} as is_at_work
       from runs k join runs r on r.id = k.id or r.id = any (k.lineage)
      where k.id = ? and r.status in ${liveSql} order by r.depth limit 1`,
    [runId],
  );
}

interface PointRow {
  readonly step: number;
  readonly waiting_until: string | null;
  readonly budget: { readonly period?: string; readonly needed?: string } | null;
  readonly is_timer: boolean;
}

/**
 * Returns what the workflow of a run needs in order to resume from its rows: the step that was begun last, and the wait before it if the run itself waits
 * and none of its calls does. A run that has not begun starts at its first step.
 */
export async function readRestartPoint(em: SqlEntityManager, runId: string): Promise<RestartPoint> {
  const found = await row<PointRow>(
    em,
    `select w.step, r.waiting_until, r.status = 'waiting' and r.waiting_on = 'timer' and not w.has_calls as is_timer,
            (select a.args from approvals a where a.run_id = r.id and a.reason = 'budget' and a.status = 'pending' order by a.id desc limit 1) as budget
       from runs r cross join lateral (
         select coalesce((select max(s.step) from run_steps s where s.run_id = r.id), 1) as step,
                exists (select from tool_calls c where c.run_id = r.id and c.state = any (?)) as has_calls) w
      where r.id = ?`,
    [openStates, runId],
  );
  if (!found) return {};
  const { step, waiting_until: until, is_timer: isTimer, budget } = found;
  const from = step > 1 ? { step } : {};
  if (isTimer && until !== null) return { ...from, wait: { on: 'timer', untilMs: new Date(until).getTime() } };
  if (budget === null) return from;
  const { period, needed } = budget;
  return { ...from, wait: { on: 'budget', ...(period ? { fullAt: period } : {}), ...(needed ? { needed } : {}) } };
}
