import { sql, type SqlBool } from 'kysely';
import type { RunStatus, WaitingOn } from '../../workflows/contracts/runs/runs.ts';
import { anyId, now } from '../expressions.ts';
import { jsonText, recordset, type JsonText } from '../json-text.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change, rows } from '../sql.ts';
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

/**
 * What a run may wait for, according to its rows. `pending`: unanswered approvals of the run and its descendants; `executing`: calls that are being executed
 * here, or will be at once; `children`: live children that calls of the run wait for.
 */
export type RunFacts = Awaited<ReturnType<typeof readFacts>>[number];

const pending = sql<number>`(select count(*)::int from approvals a join runs d on d.id = a.run_id
  where a.root_run_id = r.root_run_id and a.status = 'pending' and (a.run_id = r.id or r.id = any (d.lineage)))`;

const executing = sql<number>`(select count(*)::int from tool_calls c
  where c.run_id = r.id and c.state in ('ready', 'executing') and not c.client_owned and c.child_run_id is null)`;

const waits = sql<readonly WaitFact[]>`coalesce((select jsonb_agg(w) from (
  select case a.reason when 'input_required' then 'input' when 'auth' then 'auth' when 'budget' then 'budget' else 'approval' end as "on", a.expires_at as until
    from approvals a where a.run_id = r.id and a.status = 'pending'
  union all
  select 'client_tool', c.deadline_at from tool_calls c where c.run_id = r.id and c.state = 'ready' and c.client_owned and c.deadline_at is not null) w), '[]')`;

const children = sql<
  readonly ChildFact[]
>`coalesce((select jsonb_agg(jsonb_build_object('run_id', k.id, 'status', k.status, 'on', k.waiting_on, 'until', k.waiting_until))
  from tool_calls c join runs k on k.id = c.child_run_id where c.run_id = r.id and c.state in ('ready', 'executing')), '[]')`;

const factsOf = prepared(({ runIds }: ParametersOf<{ readonly runIds: readonly string[] }>) =>
  query
    .selectFrom('runs as r')
    .select(['r.id', pending.as('pending'), executing.as('executing'), waits.as('waits'), children.as('children')])
    .where('r.id', '=', anyId(runIds)),
);

/** Reads from the rows what runs may wait for. */
export function readFacts(tx: TenantTransaction, runs: readonly RunState[]) {
  return rows(tx.em, factsOf({ runIds: runs.map(({ id }) => id) }));
}

type Written = ReturnType<typeof toWritten>;

function toWritten({ id, status, waiting_on, waiting_until, waiting_since, waited_ms, pending_approvals }: RunState) {
  return { id, status, waiting_on, waiting_until, waiting_since, waited_ms, pending_approvals };
}

const waitsOf = prepared(({ runs }: ParametersOf<{ readonly runs: JsonText<readonly Written[]> }>) => {
  const written = recordset(runs, 'n', {
    id: 'uuid',
    status: 'text',
    waiting_on: 'text',
    waiting_until: 'timestamptz',
    waiting_since: 'timestamptz',
    waited_ms: 'bigint',
    pending_approvals: 'int',
  });
  return query
    .updateTable('runs')
    .from(written)
    .set(({ ref }) => ({
      status: ref('n.status'),
      waitingOn: ref('n.waiting_on'),
      waitingUntil: ref('n.waiting_until'),
      waitingSince: ref('n.waiting_since'),
      waitedMs: ref('n.waited_ms'),
      pendingApprovals: ref('n.pending_approvals'),
      updatedAt: now,
    }))
    .whereRef('runs.id', '=', 'n.id')
    .where(sql<SqlBool>`(runs.status = n.status or runs.status in ('running', 'waiting'))`);
});

/** Writes whether runs wait, for what and until when. A run that is ending or has ended meanwhile stays as it is. */
export async function writeWaits(tx: TenantTransaction, runs: readonly RunState[]): Promise<void> {
  await change(tx.em, waitsOf({ runs: jsonText(runs.map(toWritten)) }));
}
