import { type Expression, sql } from 'kysely';
import { anyOf } from '../expressions.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { recordset, recordsetText } from '../recordset.ts';
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

/** A rule as a tick has read it. */
type ReadRule = Pick<TickRule, 'id' | 'version' | 'lastEvaluatedAt'>;
/** The alert of a group as a tick has read it. */
type ReadAlert = Pick<NextState, 'ruleId' | 'fingerprint' | 'alertId'>;

interface Claims {
  /** Rows of `ReadRule`, `ReadAlert` and `NextState` as JSON. */
  readonly read: string;
  readonly open: string;
  readonly states: string;
  readonly at: Date;
}

const stateTypes = {
  ruleId: 'uuid',
  fingerprint: 'text',
  organizationId: 'uuid',
  workspaceId: 'uuid',
  state: 'text',
  level: 'text',
  since: 'timestamptz',
  fineSince: 'timestamptz',
  noneSince: 'timestamptz',
  lastEmitAt: 'timestamptz',
  quietUntil: 'timestamptz',
  alertId: 'uuid',
} as const satisfies Record<keyof NextState, string>;
const stateColumns = Object.keys(stateTypes) as (keyof NextState)[]; // its own keys

/** States as rows of their table. */
function newStates({ states, at }: ParametersOf<Pick<Claims, 'states' | 'at'>>) {
  const judgedAt = sql<string>`${at}::timestamptz`;
  return query
    .selectFrom(recordset<NextState>(states, stateTypes).as('n'))
    .select(stateColumns.map((name) => `n.${name}` as const))
    .select([judgedAt.as('lastTick'), judgedAt.as('createdAt')]);
}

/** Writes states; one that a newer tick has written stays. */
function insertStates(states: Expression<Pick<NextState, 'ruleId'>>) {
  return query
    .insertInto('alert_states')
    .columns([...stateColumns, 'lastTick', 'createdAt'])
    .expression(states)
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
    );
}

const claim = prepared(({ read, open, states, at }: ParametersOf<Claims>) =>
  query
    .with(
      (cte) => cte('r').materialized(),
      (of) =>
        of
          .selectFrom('alert_rules as r')
          .innerJoin(recordset<ReadRule>(read, { id: 'uuid', version: 'int', lastEvaluatedAt: 'timestamptz' }).as('q'), 'q.id', 'r.id')
          .whereRef('r.version', '=', 'q.version')
          .whereRef('r.lastEvaluatedAt', 'is not distinct from', 'q.lastEvaluatedAt')
          .where('r.isActive', '=', sql.lit(true))
          .where('r.deletedAt', 'is', null)
          .select('r.id')
          .orderBy('r.id')
          .forNoKeyUpdate('r'),
    )
    .with(
      (cte) => cte('s').materialized(),
      (of) =>
        of
          .selectFrom('alert_states as s')
          .where(({ eb, selectFrom }) => eb('s.ruleId', '=', anyOf(selectFrom('r').select('r.id'))))
          .select(['s.ruleId', 's.fingerprint', 's.alertId'])
          .orderBy('s.ruleId')
          .orderBy('s.fingerprint')
          .forUpdate(),
    )
    .with('changed', (of) =>
      of
        .selectFrom('s')
        .leftJoin(recordset<ReadAlert>(open, { ruleId: 'uuid', fingerprint: 'text', alertId: 'uuid' }).as('q'), (join) =>
          join.onRef('q.ruleId', '=', 's.ruleId').onRef('q.fingerprint', '=', 's.fingerprint'),
        )
        .whereRef('s.alertId', 'is distinct from', 'q.alertId')
        .select('s.ruleId'),
    )
    .with(
      (cte) => cte('claimed').materialized(),
      (of) =>
        of
          .selectFrom('r')
          .where('r.id', 'not in', ({ selectFrom }) => selectFrom('changed').select('changed.ruleId'))
          .select('r.id'),
    )
    .with('written', () => insertStates(newStates({ states, at }).where(sql<boolean>`n.rule_id in (select id from claimed)`)))
    .updateTable('alert_rules')
    .set(({ ref }) => ({ lastEvaluatedAt: at, updatedAt: ref('updatedAt') }))
    .where('id', 'in', ({ selectFrom }) => selectFrom('claimed').select('claimed.id'))
    .returning('id'),
);

/**
 * Locks the rules that are still as the tick has read them, marks them as judged outside their version, and writes their states: one statement. A rule that was
 * paused, changed, deleted or judged meanwhile, or one of whose alerts was resolved, stays as it is. Returns the ids of the claimed rules; these and their
 * states stay locked, in one order.
 */
export async function claimRules(tx: TenantTransaction, { rules, states, at }: Judgement): Promise<Set<string>> {
  const read = rules.map(({ id, version, lastEvaluatedAt }): ReadRule => ({ id, version, lastEvaluatedAt }));
  const open = rules.flatMap((rule) =>
    rule.states.map(({ fingerprint, alertId }): ReadAlert => ({ ruleId: rule.id, fingerprint, alertId })),
  );
  const claimed = await rows(tx.em, claim({ read: recordsetText(read), open: recordsetText(open), states: recordsetText(states), at }));
  return new Set(claimed.map(({ id }) => id));
}

const write = prepared((given: ParametersOf<Pick<Claims, 'states' | 'at'>>) => insertStates(newStates(given)));

/** Writes states of claimed rules; a state that a newer tick has written stays. */
export async function writeStates(tx: TenantTransaction, states: readonly NextState[], at: Date): Promise<void> {
  if (states.length === 0) return;
  await change(tx.em, write({ states: recordsetText(states), at }));
}

/** Deletes the states of groups that no longer exist and have recovered. */
export async function dropStates(tx: TenantTransaction, gone: readonly Pick<NextState, 'ruleId' | 'fingerprint'>[]): Promise<void> {
  if (gone.length === 0) return;
  const groups = recordsetText(gone.map(({ ruleId, fingerprint }) => ({ ruleId, fingerprint })));
  await change(
    tx.em,
    query
      .deleteFrom('alert_states as s')
      .using(recordset<Pick<NextState, 'ruleId' | 'fingerprint'>>(groups, { ruleId: 'uuid', fingerprint: 'text' }).as('g'))
      .whereRef('s.ruleId', '=', 'g.ruleId')
      .whereRef('s.fingerprint', '=', 'g.fingerprint'),
  );
}

interface SeenAlert {
  readonly id: string;
  readonly value: string | null;
}

/** Writes the measured values of open alerts, outside their version. */
export async function touchAlerts(tx: TenantTransaction, seen: readonly SeenAlert[], at: Date): Promise<void> {
  if (seen.length === 0) return;
  await change(
    tx.em,
    query
      .updateTable('alerts')
      .from(recordset<SeenAlert>(recordsetText(seen), { id: 'uuid', value: 'numeric' }).as('d'))
      .set(({ ref }) => ({ lastSeenAt: at, value: ref('d.value'), updatedAt: ref('alerts.updatedAt') }))
      .whereRef('alerts.id', '=', 'd.id')
      .where('alerts.resolvedAt', 'is', null),
  );
}
