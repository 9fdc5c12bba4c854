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
] as const;

/** A rule as a tick reads it. */
export type TickRule = Awaited<ReturnType<typeof rulesToJudge>>[number];

/** The rules of an organization that the tick at an instant has to judge; those of archived workspaces are left alone. */
export function rulesToJudge(tx: Pick<TenantTransaction, 'em'>, organizationId: string, at: Date) {
  return rows(
    tx.em,
    query
      .selectFrom('alert_rules as r')
      .leftJoin('workspaces as w', 'w.id', 'r.workspaceId')
      .where('r.organizationId', '=', organizationId)
      .where('r.isActive', '=', sql.lit(true))
      .where('r.deletedAt', 'is', null)
      .where('r.budgetId', 'is', null)
      .where(({ eb, or }) => or([eb('r.lastEvaluatedAt', 'is', null), eb('r.lastEvaluatedAt', '<', at.toISOString())]))
      .where(({ eb, or }) => or([eb('w.id', 'is', null), eb('w.isActive', '=', sql.lit(true))]))
      .select(ruleColumns)
      .orderBy('r.id'),
  );
}

/**
 * Locks those among some rules that are as the tick has read them, and that no newer tick has judged: a rule that was paused, changed or deleted meanwhile is
 * not among them. Gives their ids.
 */
export async function lockRules(tx: TenantTransaction, rules: readonly Pick<TickRule, 'id' | 'version'>[], at: Date): Promise<Set<string>> {
  const versions = new Map(rules.map(({ id, version }) => [id, version]));
  const locked = await rows(
    tx.em,
    query
      .selectFrom('alert_rules')
      .where(({ eb, ref }) => eb(ref('id'), '=', sql<string>`any (${idsOf(versions.keys())}::uuid[])`))
      .where('isActive', '=', sql.lit(true))
      .where('deletedAt', 'is', null)
      .where(({ eb, or }) => or([eb('lastEvaluatedAt', 'is', null), eb('lastEvaluatedAt', '<', at.toISOString())]))
      .select(['id', 'version'])
      .orderBy('id')
      .forNoKeyUpdate(),
  );
  return new Set(locked.filter(({ id, version }) => versions.get(id) === version).map(({ id }) => id));
}

/** The state of a group, locked, and whether somebody has acknowledged or snoozed its open alert. */
export type TickState = Awaited<ReturnType<typeof lockStates>>[number];

/** Locks the states of some rules, in one order. */
export function lockStates(tx: TenantTransaction, ruleIds: Iterable<string>, at: Date) {
  return rows(
    tx.em,
    query
      .selectFrom('alert_states as s')
      .leftJoin('alerts as a', 'a.id', 's.alertId')
      .where(({ eb, ref }) => eb(ref('s.ruleId'), '=', sql<string>`any (${idsOf(ruleIds)}::uuid[])`))
      .select(['s.ruleId', 's.fingerprint', 's.workspaceId', 's.state', 's.level', 's.since', 's.fineSince', 's.noneSince'])
      .select(['s.lastEmitAt', 's.quietUntil', 's.alertId', 's.lastTick'])
      .select(({ eb, or }) => [
        or([eb('a.acknowledgedAt', 'is not', null), eb('a.snoozedUntil', '>', at.toISOString())])
          .$castTo<boolean | null>()
          .as('isMuted'),
      ])
      .orderBy('s.ruleId')
      .orderBy('s.fingerprint')
      .forUpdate('s'),
  );
}

/** The state of a group as a tick leaves it. */
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

/** Writes the states of a tick; one that a newer tick has written stays. */
export async function writeStates(tx: TenantTransaction, states: readonly NextState[], at: Date): Promise<void> {
  if (states.length === 0) return;
  const values = states.map((state) => ({ ...state, lastTick: at, createdAt: at }));
  await change(
    tx.em,
    query
      .insertInto('alert_states')
      .values(values)
      .onConflict((conflict) =>
        conflict
          .columns(['ruleId', 'fingerprint'])
          .doUpdateSet(({ ref }) => ({
            workspaceId: ref('excluded.workspaceId'),
            state: ref('excluded.state'),
            level: ref('excluded.level'),
            since: ref('excluded.since'),
            fineSince: ref('excluded.fineSince'),
            noneSince: ref('excluded.noneSince'),
            lastTick: ref('excluded.lastTick'),
            lastEmitAt: ref('excluded.lastEmitAt'),
            quietUntil: ref('excluded.quietUntil'),
            alertId: ref('excluded.alertId'),
          }))
          .whereRef('alert_states.lastTick', '<', 'excluded.lastTick'),
      ),
  );
}

/** Forgets groups that are gone and fine. */
export async function dropStates(tx: TenantTransaction, gone: readonly Pick<NextState, 'ruleId' | 'fingerprint'>[]): Promise<void> {
  if (gone.length === 0) return;
  await change(
    tx.em,
    `delete from alert_states s using jsonb_to_recordset(?::jsonb) as g("ruleId" uuid, fingerprint text) where s.rule_id = g."ruleId" and s.fingerprint = g.fingerprint`,
    [JSON.stringify(gone.map(({ ruleId, fingerprint }) => ({ ruleId, fingerprint })))],
  );
}

/** Writes what was measured of open alerts, outside their version. */
export async function touchAlerts(tx: TenantTransaction, seen: readonly { id: string; value: string | null }[], at: Date): Promise<void> {
  if (seen.length === 0) return;
  await change(
    tx.em,
    `update alerts a set last_seen_at = ?, value = d.value from jsonb_to_recordset(?::jsonb) as d(id uuid, value numeric) where a.id = d.id and a.resolved_at is null`,
    [at, JSON.stringify(seen)],
  );
}

/** Notes that rules were judged at a tick, outside their version. */
export async function markJudged(tx: TenantTransaction, ruleIds: Iterable<string>, at: Date): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('alert_rules')
      .set(({ ref }) => ({ lastEvaluatedAt: at, updatedAt: ref('updatedAt') }))
      .where(({ eb, ref }) => eb(ref('id'), '=', sql<string>`any (${idsOf(ruleIds)}::uuid[])`)),
  );
}

function idsOf(ids: Iterable<string>): string {
  return `{${[...ids].join(',')}}`;
}
