import { sql } from 'kysely';
import { query } from '../query.ts';
import { change, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { AlertState } from './alert-state.entity.ts';

const ruleColumns = [
  'r.id',
  'r.organizationId',
  'r.workspaceId',
  'r.agentId',
  'r.name',
  'r.kind',
  'r.groupBy',
  'r.operator',
  'r.threshold',
  'r.warningThreshold',
  'r.windowS',
  'r.forS',
  'r.keepFiringS',
  'r.repeatIntervalS',
  'r.noDataMode',
  'r.targets',
  'r.version',
  'r.lastEvaluatedAt',
] as const;

/** A rule as a tick reads it, with the states of its groups. */
export type TickRule = Awaited<ReturnType<typeof rulesToJudge>>[number];

/** The state of a group, with times as ISO 8601, and whether a user has acknowledged or snoozed its open alert. */
export interface TickState extends Pick<AlertState, 'fingerprint' | 'state' | 'level' | 'alertId'> {
  readonly since: string;
  readonly fineSince: string | null;
  readonly noneSince: string | null;
  readonly lastEmitAt: string | null;
  readonly quietUntil: string | null;
  readonly isMuted: boolean | null;
}

/**
 * Returns the rules of an organization that the tick at an instant has to judge, each with its states; rules of archived workspaces are left alone. Returns
 * none for a tick in the future: no later one would be newer. Temporal's clock may be ahead of the database's by a minute.
 */
export function rulesToJudge(tx: Pick<TenantTransaction, 'em'>, organizationId: string, at: Date) {
  return rows(
    tx.em,
    query
      .selectFrom('alert_rules as r')
      .leftJoin('workspaces as w', 'w.id', 'r.workspaceId')
      .where('r.organizationId', '=', organizationId)
      .where(sql<boolean>`${at.toISOString()}::timestamptz <= clock_timestamp() + interval '1 minute'`)
      .where('r.isActive', '=', sql.lit(true))
      .where('r.deletedAt', 'is', null)
      .where('r.budgetId', 'is', null)
      .where(({ eb, or }) => or([eb('r.lastEvaluatedAt', 'is', null), eb('r.lastEvaluatedAt', '<', at.toISOString())]))
      .where(({ eb, or }) => or([eb('w.id', 'is', null), eb('w.isActive', '=', sql.lit(true))]))
      .select(ruleColumns)
      .select(statesOf(at).as('states'))
      .orderBy('r.id'),
  );
}

/** Plain SQL text, since rows inside JSON keep the names given there. */
function statesOf(at: Date) {
  return sql<TickState[]>`(
    select coalesce(jsonb_agg(jsonb_build_object(
             'fingerprint', s.fingerprint, 'state', s.state, 'level', s.level, 'alertId', s.alert_id, 'since', s.since, 'fineSince', s.fine_since,
             'noneSince', s.none_since, 'lastEmitAt', s.last_emit_at, 'quietUntil', s.quiet_until,
             'isMuted', a.acknowledged_at is not null or a.snoozed_until > ${at.toISOString()}::timestamptz)), '[]')
      from alert_states s left join alerts a on a.id = s.alert_id where s.rule_id = r.id)`;
}

/** The state of a group after a tick. */
export type NextState = Pick<
  AlertState,
  | 'ruleId'
  | 'fingerprint'
  | 'organizationId'
  | 'workspaceId'
  | 'state'
  | 'level'
  | 'since'
  | 'fineSince'
  | 'noneSince'
  | 'lastEmitAt'
  | 'quietUntil'
  | 'alertId'
>;

/** The result of a tick for some rules: states without an event, which only have to be written. */
export interface Judgement {
  readonly rules: readonly TickRule[];
  readonly states: readonly NextState[];
  readonly at: Date;
}

/**
 * Locks the rules that are still as the tick has read them, marks them as judged outside their version, and writes their states: one statement. A rule that was
 * paused, changed, deleted or judged meanwhile, or one of whose alerts was resolved, stays as it is. Returns the ids of the claimed rules; these and their
 * states stay locked, in one order.
 */
export async function claimRules(tx: TenantTransaction, { rules, states, at }: Judgement): Promise<Set<string>> {
  const read = rules.map(({ id, version, lastEvaluatedAt }) => ({ id, version, lastEvaluatedAt }));
  const open = rules.flatMap((rule) => rule.states.map(({ fingerprint, alertId }) => ({ ruleId: rule.id, fingerprint, alertId })));
  const claimed = await rows<{ id: string }>(
    tx.em,
    `with r as materialized (
       select r.id from alert_rules r join jsonb_to_recordset(?::jsonb) as q(id uuid, version int, "lastEvaluatedAt" timestamptz) on q.id = r.id
        where r.version = q.version and r.last_evaluated_at is not distinct from q."lastEvaluatedAt" and r.is_active and r.deleted_at is null
        order by r.id for no key update of r),
     s as materialized (
       select s.rule_id, s.fingerprint, s.alert_id from alert_states s where s.rule_id = any (array(select id from r)) order by s.rule_id, s.fingerprint for update),
     changed as (
       select s.rule_id from s left join jsonb_to_recordset(?::jsonb) as q("ruleId" uuid, fingerprint text, "alertId" uuid)
           on q."ruleId" = s.rule_id and q.fingerprint = s.fingerprint
        where s.alert_id is distinct from q."alertId"),
     claimed as materialized (select id from r where id not in (select rule_id from changed)),
     written as (${writeSql} join claimed on claimed.id = n."ruleId" ${onKnown})
     update alert_rules set last_evaluated_at = ? where id in (select id from claimed) returning id`,
    [JSON.stringify(read), JSON.stringify(open), at, at, JSON.stringify(states), at],
  );
  return new Set(claimed.map(({ id }) => id));
}

/** Writes states of claimed rules; a state that a newer tick has written stays. */
export async function writeStates(tx: TenantTransaction, states: readonly NextState[], at: Date): Promise<void> {
  if (states.length === 0) return;
  await change(tx.em, `${writeSql} ${onKnown}`, [at, at, JSON.stringify(states)]);
}

const writeSql = `insert into alert_states
         (rule_id, fingerprint, organization_id, workspace_id, state, level, since, fine_since, none_since, last_emit_at, quiet_until, alert_id, last_tick, created_at)
       select n."ruleId", n.fingerprint, n."organizationId", n."workspaceId", n.state, n.level, n.since, n."fineSince", n."noneSince", n."lastEmitAt", n."quietUntil",
              n."alertId", ?::timestamptz, ?::timestamptz
         from jsonb_to_recordset(?::jsonb) as n("ruleId" uuid, fingerprint text, "organizationId" uuid, "workspaceId" uuid, state text, level text, since timestamptz,
              "fineSince" timestamptz, "noneSince" timestamptz, "lastEmitAt" timestamptz, "quietUntil" timestamptz, "alertId" uuid)`;
const onKnown = `on conflict (rule_id, fingerprint) do update set
         workspace_id = excluded.workspace_id, state = excluded.state, level = excluded.level, since = excluded.since, fine_since = excluded.fine_since,
         none_since = excluded.none_since, last_tick = excluded.last_tick, last_emit_at = excluded.last_emit_at, quiet_until = excluded.quiet_until, alert_id = excluded.alert_id
       where alert_states.last_tick < excluded.last_tick`;

/** Deletes the states of groups that no longer exist and have recovered. */
export async function dropStates(tx: TenantTransaction, gone: readonly Pick<NextState, 'ruleId' | 'fingerprint'>[]): Promise<void> {
  if (gone.length === 0) return;
  await change(
    tx.em,
    `delete from alert_states s using jsonb_to_recordset(?::jsonb) as g("ruleId" uuid, fingerprint text) where s.rule_id = g."ruleId" and s.fingerprint = g.fingerprint`,
    [JSON.stringify(gone.map(({ ruleId, fingerprint }) => ({ ruleId, fingerprint })))],
  );
}

/** Writes the measured values of open alerts, outside their version. */
export async function touchAlerts(tx: TenantTransaction, seen: readonly { id: string; value: string | null }[], at: Date): Promise<void> {
  if (seen.length === 0) return;
  await change(
    tx.em,
    `update alerts a set last_seen_at = ?, value = d.value from jsonb_to_recordset(?::jsonb) as d(id uuid, value numeric) where a.id = d.id and a.resolved_at is null`,
    [at, JSON.stringify(seen)],
  );
}
