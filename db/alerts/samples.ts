import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { rows } from '../sql.ts';
import type { AlertRule, SamplerKind } from './alert-rule.entity.ts';

/** Groups that a rule tells apart; the rest is one. */
export const maxGroups = 200;

/** What is measured: the rules of one kind in one organization, at an instant. */
export interface Measuring {
  readonly organizationId: string;
  readonly kind: SamplerKind;
  readonly rules: readonly Pick<AlertRule, 'id' | 'workspaceId' | 'agentId' | 'groupBy' | 'windowS'>[];
  readonly at: Date;
  /** In which money is measured: what was priced in another is left out, since currencies are never added up. */
  readonly currency: string;
}

/** One value of one group. `key`: id of workspace or agent; null with `isOther`, and where a rule does not group. */
export interface Measured {
  readonly ruleId: string;
  readonly key: string | null;
  readonly isOther: boolean;
  /** Decimal. */
  readonly value: string;
}

/** What a kind reads: tables with the alias `e`, its own condition, which instant of a row counts (null: the row counts now), and how rows become a value. */
interface Source {
  readonly from: string;
  readonly where: string;
  readonly time: string | null;
  readonly agent: string;
  readonly value: string;
  readonly workspace?: string;
}

const ended = { from: 'runs e', where: "e.source <> 'evaluation'", time: 'e.finished_at', agent: 'e.agent_id' };
const usage = { from: 'usage_entries e', time: 'e.occurred_at', agent: 'e.agent_id' };

const sources: Readonly<Record<SamplerKind, Source>> = {
  spend: { ...usage, where: 'e.currency = p.currency', value: 'sum(m.amount)' },
  unpriced_usage: { ...usage, where: 'e.unpriced', value: 'count(*)' },
  run_failures: { ...ended, where: `${ended.where} and e.status = 'failed'`, value: 'count(*)' },
  run_failure_pct: { ...ended, value: 'round(count(*) filter (where m.is_failed) * 100.0 / count(*), 6)' },
  run_duration_p95: { ...ended, value: '(percentile_cont(0.95) within group (order by m.seconds))::numeric(20, 3)' },
  runs_waiting: { from: 'runs e', where: "e.status in ('queued', 'waiting')", time: null, agent: 'e.agent_id', value: 'count(*)' },
  // Its own notices are left out: a rule that nobody can be told of would keep itself in breach.
  delivery_failures: {
    from: "alert_deliveries e join alert_rules x on x.id = e.rule_id and x.kind <> 'delivery_failures'",
    where: "e.status = 'dead' and e.event <> 'test'",
    time: 'e.updated_at',
    agent: 'null::uuid',
    value: 'count(*)',
  },
  schedule_missed: {
    from: 'schedule_occurrences e join schedules x on x.id = e.schedule_id',
    where: "e.status = 'missed'",
    time: 'e.created_at',
    agent: 'x.agent_id',
    value: 'count(*)',
  },
};

/** Columns that the values of a kind are made of. */
const columns: Readonly<Partial<Record<SamplerKind, string>>> = {
  spend: ', e.cost as amount',
  run_failure_pct: ", e.status = 'failed' as is_failed",
  run_duration_p95: ', extract(epoch from e.finished_at - coalesce(e.started_at, e.created_at)) as seconds',
};

/**
 * Measures all rules of one kind in one statement: text, since rules come as one JSON value and each joins its own stretch of time. A group without a row is
 * not among what it gives.
 */
export function measure(em: SqlEntityManager, { organizationId, kind, rules, at, currency }: Measuring): Promise<Measured[]> {
  const { from, where, time, agent, value } = sources[kind];
  const within = time === null ? 'true' : `${time} > p.at - make_interval(secs => r."windowS") and ${time} <= p.at`;
  // An index of theirs begins with the workspace.
  const inPlace =
    time === null ? 'e.workspace_id = any (array(select id from workspaces where organization_id = p.org))' : 'e.organization_id = p.org';
  return rows<Measured>(
    em,
    `with p as (select ?::uuid as org, ?::timestamptz as at, ?::text as currency),
     r as (select * from jsonb_to_recordset(?::jsonb) as r(id uuid, "workspaceId" uuid, "agentId" uuid, "groupBy" text, "windowS" int)),
     m as materialized (
       select r.id as rule, r."groupBy" <> 'none' as is_grouped,
              case r."groupBy" when 'workspace' then e.workspace_id when 'agent' then ${agent} end as key ${columns[kind] ?? ''}
         from p cross join r join ${from} on ${inPlace} and ${within} and (${where})
              and (r."workspaceId" is null or e.workspace_id = r."workspaceId") and (r."agentId" is null or ${agent} = r."agentId")),
     g as (
       select rule, key, is_grouped and (key is null or row_number() over (partition by rule order by count(*) desc, key) > ${maxGroups}) as is_other
         from m group by rule, key, is_grouped)
     select m.rule as "ruleId", case when not g.is_other then m.key end as key, g.is_other as "isOther", (${value})::text as value
       from m join g on g.rule = m.rule and g.key is not distinct from m.key
      group by 1, 2, 3`,
    [
      organizationId,
      at,
      currency,
      JSON.stringify(rules.map(({ id, workspaceId, agentId, groupBy, windowS }) => ({ id, workspaceId, agentId, groupBy, windowS }))),
    ],
  );
}
