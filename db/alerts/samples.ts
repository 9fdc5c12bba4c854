import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { rows } from '../sql.ts';
import type { AlertRule, SamplerKind } from './alert-rule.entity.ts';

/** Number of groups that a rule distinguishes; all others count as one. */
export const maxGroups = 200;

/** What is measured: the rules of one kind in one organization, at an instant. */
export interface Measuring {
  readonly organizationId: string;
  readonly kind: SamplerKind;
  readonly rules: readonly Pick<AlertRule, 'id' | 'workspaceId' | 'agentId' | 'groupBy' | 'windowS'>[];
  readonly at: Date;
  /** The currency of the measurement: amounts in another are omitted, since currencies are never added up. */
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

/** What a kind reads: tables with the alias `e`, its own condition, the time of a row that counts (null: the row counts now), and how rows become a value. */
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
  // Excludes notices of such rules: a rule whose notices cannot be delivered would otherwise keep itself in breach.
  delivery_failures: {
    from: `(select d.organization_id, d.workspace_id, d.updated_at from alert_deliveries d join alert_rules x on x.id = d.rule_id and x.kind <> 'delivery_failures'
              where d.status = 'dead' and d.event <> 'test'
            union all select c.organization_id, c.workspace_id, c.updated_at from outbound_callbacks c where c.status = 'failed'
            union all select o.organization_id, o.workspace_id, o.updated_at from channel_outbound o where o.state = 'failed') e`,
    where: 'true',
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

/** Columns that the values of a kind are computed from. */
const columns: Readonly<Partial<Record<SamplerKind, string>>> = {
  spend: ', e.cost as amount',
  run_failure_pct: ", e.status = 'failed' as is_failed",
  run_duration_p95: ', extract(epoch from e.finished_at - coalesce(e.started_at, e.created_at)) as seconds',
};

/**
 * Measures all rules of one kind in one statement. It is text, since rules come as one JSON value and each joins its own time window. Rows of the longest
 * window are read once for all rules; those of a workspace are joined by its id. A group without a row is not in the result.
 */
export function measure(em: SqlEntityManager, { organizationId, kind, rules, at, currency }: Measuring): Promise<Measured[]> {
  const maxS = Math.max(0, ...rules.map(({ windowS }) => windowS));
  return rows<Measured>(
    em,
    `with p as (select ?::uuid as org, ?::timestamptz as at, ?::text as currency, ?::int as longest),
     r as (select * from jsonb_to_recordset(?::jsonb) as r(id uuid, "workspaceId" uuid, "agentId" uuid, "groupBy" text, "windowS" int)),
     s as materialized (${rowsRead(kind)}),
     k as (
       select r.id as rule, r."groupBy", s.* from p cross join r join s on s.workspace_id = r."workspaceId" where ${rowsOfRule(kind)}
       union all
       select r.id, r."groupBy", s.* from p cross join r cross join s where r."workspaceId" is null and ${rowsOfRule(kind)}),
     ${rules.some(({ groupBy }) => groupBy !== 'none') ? inGroups : inOneGroup}
     select m.rule as "ruleId", case when not m.is_other then m.key end as key, m.is_other as "isOther", (${sources[kind].value})::text as value
       from m group by 1, 2, 3`,
    [
      organizationId,
      at,
      currency,
      maxS,
      JSON.stringify(rules.map(({ id, workspaceId, agentId, groupBy, windowS }) => ({ id, workspaceId, agentId, groupBy, windowS }))),
    ],
  );
}

const inGroups = `n as (
       select *, count(*) over (partition by rule, key) as size
         from (select *, case "groupBy" when 'workspace' then workspace_id when 'agent' then agent_id end as key from k) keyed),
     m as (select *, "groupBy" <> 'none' and (key is null or dense_rank() over (partition by rule order by size desc, key) > ${maxGroups}) as is_other from n)`;
/** Without the two sorts, for when no rule groups. */
const inOneGroup = 'm as (select *, null::uuid as key, false as is_other from k)';

/** The rows that any rule of a kind may count. */
function rowsRead(kind: SamplerKind): string {
  const { from, where, time, agent } = sources[kind];
  const within = time === null ? 'true' : `${time} > p.at - make_interval(secs => p.longest) and ${time} <= p.at`;
  // Their index begins with the workspace.
  const inPlace =
    time === null ? 'e.workspace_id = any (array(select id from workspaces where organization_id = p.org))' : 'e.organization_id = p.org';
  return `select e.workspace_id, ${agent} as agent_id, ${time ?? 'null::timestamptz'} as at ${columns[kind] ?? ''}
            from p join ${from} on ${inPlace} and ${within} and (${where})`;
}

/** The rows among these that a rule counts. */
function rowsOfRule(kind: SamplerKind): string {
  const within = sources[kind].time === null ? 'true' : 's.at > p.at - make_interval(secs => r."windowS")';
  return `(r."agentId" is null or s.agent_id = r."agentId") and ${within}`;
}
