import type { RunStatus, WaitingOn } from '../../workflows/contracts/runs/runs.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { RunState } from './run-state.ts';

interface WaitFact {
  readonly on: WaitingOn;
  readonly until: string;
}

interface ChildFact {
  readonly run_id: string;
  readonly status: RunStatus;
  readonly on: WaitingOn | null;
  readonly until: string | null;
}

/** What a run may wait for, according to its rows. */
export interface RunFacts {
  readonly id: string;
  /** Unanswered approvals of the run and its descendants. */
  readonly pending: number;
  /** Calls that are being executed here, or will be at once. */
  readonly executing: number;
  readonly waits: readonly WaitFact[];
  /** Live children that calls of the run wait for. */
  readonly children: readonly ChildFact[];
}

/** Reads from the rows what runs may wait for. */
export function readFacts(tx: TenantTransaction, runs: readonly RunState[]): Promise<RunFacts[]> {
  return rows<RunFacts>(
    tx.em,
    `select r.id,
       (select count(*)::int from approvals a join runs d on d.id = a.run_id
         where a.root_run_id = r.root_run_id and a.status = 'pending' and (a.run_id = r.id or r.id = any (d.lineage))) as pending,
       (select count(*)::int from tool_calls c where c.run_id = r.id and c.state in ('ready', 'executing') and not c.client_owned and c.child_run_id is null) as executing,
       coalesce((select jsonb_agg(w) from (
         select case a.reason when 'input_required' then 'input' when 'auth' then 'auth' when 'budget' then 'budget' else 'approval' end as "on", a.expires_at as until
           from approvals a where a.run_id = r.id and a.status = 'pending'
         union all
         select 'client_tool', c.deadline_at from tool_calls c where c.run_id = r.id and c.state = 'ready' and c.client_owned and c.deadline_at is not null) w), '[]') as waits,
       coalesce((select jsonb_agg(jsonb_build_object('run_id', k.id, 'status', k.status, 'on', k.waiting_on, 'until', k.waiting_until))
         from tool_calls c join runs k on k.id = c.child_run_id where c.run_id = r.id and c.state in ('ready', 'executing')), '[]') as children
     from runs r where r.id = any (?::uuid[])`,
    [runs.map(({ id }) => id)],
  );
}

function toWritten({ id, status, waiting_on, waiting_until, waiting_since, waited_ms, pending_approvals }: RunState) {
  return { id, status, waiting_on, waiting_until, waiting_since, waited_ms, pending_approvals };
}

/** Writes whether runs wait, for what and until when. A run that is ending or has ended meanwhile stays as it is. */
export async function writeWaits(tx: TenantTransaction, runs: readonly RunState[]): Promise<void> {
  await rows(
    tx.em,
    `update runs r set status = n.status, waiting_on = n.waiting_on, waiting_until = n.waiting_until, waiting_since = n.waiting_since, waited_ms = n.waited_ms,
            pending_approvals = n.pending_approvals, updated_at = now()
       from jsonb_to_recordset(?::jsonb) as n(id uuid, status text, waiting_on text, waiting_until timestamptz, waiting_since timestamptz, waited_ms bigint, pending_approvals int)
      where r.id = n.id and (r.status = n.status or r.status in ('running', 'waiting'))`,
    [JSON.stringify(runs.map(toWritten))],
  );
}
