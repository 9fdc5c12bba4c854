import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import { query } from '../query.ts';
import { recordset, recordsetText } from '../recordset.ts';
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

/** One value of one group, a decimal. `key`: id of workspace or agent; null with `isOther`, and where a rule does not group. */
export type Measured = Awaited<ReturnType<typeof measure>>[number];

/** What a kind reads: tables with the alias `e`, its own condition, the time of a row that counts (null: the row counts now), and how rows become a value. */
interface Source {
  readonly from: RawBuilder<unknown>;
  readonly where: RawBuilder<boolean>;
  readonly time: RawBuilder<string> | null;
  readonly agent: RawBuilder<string | null>;
  readonly value: RawBuilder<unknown>;
}

const ended = { from: sql`runs e`, time: sql<string>`e.finished_at`, agent: sql<string>`e.agent_id` };
const usage = { from: sql`usage_entries e`, time: sql<string>`e.occurred_at`, agent: sql<string>`e.agent_id` };
const isAnswer = sql<boolean>`e.source <> 'evaluation'`;

const sources: Readonly<Record<SamplerKind, Source>> = {
  spend: { ...usage, where: sql`e.currency = p.currency`, value: sql`sum(m.amount)` },
  unpriced_usage: { ...usage, where: sql`e.unpriced`, value: sql`count(*)` },
  run_failures: { ...ended, where: sql`${isAnswer} and e.status = 'failed'`, value: sql`count(*)` },
  run_failure_pct: { ...ended, where: isAnswer, value: sql`round(count(*) filter (where m.is_failed) * 100.0 / count(*), 6)` },
  run_duration_p95: {
    ...ended,
    where: isAnswer,
    value: sql`(percentile_cont(0.95) within group (order by m.seconds))::numeric(20, 3)`,
  },
  runs_waiting: { ...ended, time: null, where: sql`e.status in ('queued', 'waiting')`, value: sql`count(*)` },
  // Excludes notices of such rules: a rule whose notices cannot be delivered would otherwise keep itself in breach.
  delivery_failures: {
    from: sql`(select d.organization_id, d.workspace_id, d.updated_at from alert_deliveries d join alert_rules x on x.id = d.rule_id and x.kind <> 'delivery_failures'
              where d.status = 'dead' and d.event <> 'test'
            union all select c.organization_id, c.workspace_id, c.updated_at from outbound_callbacks c where c.status = 'failed'
            union all select o.organization_id, o.workspace_id, o.updated_at from channel_outbound o where o.state = 'failed') e`,
    where: sql`true`,
    time: sql`e.updated_at`,
    agent: sql`null::uuid`,
    value: sql`count(*)`,
  },
  schedule_missed: {
    from: sql`schedule_occurrences e join schedules x on x.id = e.schedule_id`,
    where: sql`e.status = 'missed'`,
    time: sql`e.created_at`,
    agent: sql`x.agent_id`,
    value: sql`count(*)`,
  },
};

/** Columns that the values of a kind are computed from. */
const columns: Readonly<Partial<Record<SamplerKind, RawBuilder<unknown>>>> = {
  spend: sql`, e.cost as amount`,
  run_failure_pct: sql`, e.status = 'failed' as is_failed`,
  run_duration_p95: sql`, extract(epoch from e.finished_at - coalesce(e.started_at, e.created_at)) as seconds`,
};

/**
 * Measures all rules of one kind in one statement. It is written out, since rules come as one JSON value and each joins its own time window. Rows of the
 * longest window are read once for all rules; those of a workspace are joined by its id. A group without a row is not in the result.
 */
export function measure(em: SqlEntityManager, { organizationId, kind, rules, at, currency }: Measuring) {
  const maxS = Math.max(0, ...rules.map(({ windowS }) => windowS));
  const given = recordsetText(
    rules.map(({ id, workspaceId, agentId, groupBy, windowS }) => ({ id, workspaceId, agentId, groupBy, windowS })),
  );
  return rows(
    em,
    query
      .with(
        'p',
        () =>
          sql<object>`(select ${organizationId}::uuid as org, ${at}::timestamptz as at, ${currency}::text as currency, ${maxS}::int as longest)`,
      )
      .with('r', (of) =>
        of
          .selectFrom(
            recordset<Measuring['rules'][number]>(given, {
              id: 'uuid',
              workspaceId: 'uuid',
              agentId: 'uuid',
              groupBy: 'text',
              windowS: 'int',
            }).as('r'),
          )
          .select(['r.id', 'r.workspaceId', 'r.agentId', 'r.groupBy', 'r.windowS']),
      )
      .with(
        (cte) => cte('s').materialized(),
        () => rowsRead(kind),
      )
      .with(
        'k',
        () => sql<object>`(
          select r.id as rule, r.group_by, s.* from p cross join r join s on s.workspace_id = r.workspace_id where ${rowsOfRule(kind)}
          union all
          select r.id, r.group_by, s.* from p cross join r cross join s where r.workspace_id is null and ${rowsOfRule(kind)})`,
      )
      .with('m', () => (rules.some(({ groupBy }) => groupBy !== 'none') ? inGroups : inOneGroup))
      .selectFrom('m')
      .select(['m.rule as ruleId', sql<string | null>`case when not m.is_other then m.key end`.as('key'), 'm.isOther'])
      .select(sql<string>`(${sources[kind].value})::text`.as('value'))
      .groupBy(sql`1, 2, 3`),
  );
}

/** A counted row: the rule that counts it, and its group. */
interface CountedRow {
  readonly rule: string;
  readonly key: string | null;
  readonly isOther: boolean;
}

const inGroups = sql<CountedRow>`(
  select *, group_by <> 'none' and (key is null or dense_rank() over (partition by rule order by size desc, key) > ${sql.lit(maxGroups)}) as is_other
    from (select *, count(*) over (partition by rule, key) as size
            from (select *, case group_by when 'workspace' then workspace_id when 'agent' then agent_id end as key from k) keyed) n)`;
/** Without the two sorts, for when no rule groups. */
const inOneGroup = sql<CountedRow>`(select *, null::uuid as key, false as is_other from k)`;

/** The rows that any rule of a kind may count. */
function rowsRead(kind: SamplerKind): RawBuilder<object> {
  const { from, where, time, agent } = sources[kind];
  const within = time === null ? sql`true` : sql`${time} > p.at - make_interval(secs => p.longest) and ${time} <= p.at`;
  // Their index begins with the workspace.
  const inPlace =
    time === null
      ? sql`e.workspace_id = any (array(select id from workspaces where organization_id = p.org))`
      : sql`e.organization_id = p.org`;
  return sql<object>`(
    select e.workspace_id, ${agent} as agent_id, ${time ?? sql`null::timestamptz`} as at ${columns[kind] ?? sql``}
      from p join ${from} on ${inPlace} and ${within} and (${where}))`;
}

/** The rows among these that a rule counts. */
function rowsOfRule(kind: SamplerKind): RawBuilder<boolean> {
  const within = sources[kind].time === null ? sql`true` : sql`s.at > p.at - make_interval(secs => r.window_s)`;
  return sql`(r.agent_id is null or s.agent_id = r.agent_id) and ${within}`;
}
