import { sql } from 'kysely';
import type { Condition } from '../condition.ts';
import { preparedList } from '../page-query.ts';
import type { PageRequest } from '../page.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { visibleToSql, seen, visibleTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { EventTrigger } from './event-trigger.entity.ts';

/** A trigger as it is read, with the number of its accepted events. */
export type EventTriggerRow = NonNullable<Awaited<ReturnType<typeof readTriggerRow>>>;

export interface TriggerFilters {
  readonly agentId?: string;
  /** Each is true or undefined: a prepared query only sees which are present. */
  readonly active?: true;
  readonly inactive?: true;
}

const matchCount = sql<number>`coalesce((select sum(c.n)::int8 from event_trigger_counters c where c.trigger_id = t.id), 0)`;

function selectTriggers(visible: Condition) {
  return query
    .selectFrom('event_triggers as t')
    .where('t.deletedAt', 'is', null)
    .where(visible)
    .select(['t.id', 't.organizationId', 't.workspaceId', 't.agentId', 't.name', 't.eventKind', 't.filter', 't.promptTemplate'])
    .select(['t.inputTemplate', 't.sessionKeyTemplate', 't.personaSlugTemplate', 't.subjectTemplate', 't.coalescing', 't.maxDepth'])
    .select(['t.isActive', 't.createdByUserId', 't.version', 't.createdAt', 't.updatedAt', matchCount.as('matchCount')]);
}

const oneTrigger = prepared(({ triggerId, visible }: ParametersOf<{ readonly triggerId: string; readonly visible: Condition }>) =>
  selectTriggers(visible).where('t.id', '=', triggerId),
);

function readTriggerRow(ctx: Scoped, triggerId: string) {
  return row(ctx.em, oneTrigger({ triggerId, visible: visibleToSql(ctx, EventTrigger, 't') }));
}

/** Returns one trigger that the caller sees. Throws 404, or 403 where the caller's rank is below the floor. */
export async function readTrigger(ctx: Scoped, triggerId: string): Promise<EventTriggerRow> {
  return seen(ctx, await readTriggerRow(ctx, triggerId));
}

const triggerList = preparedList(
  ({ agentId, active, inactive, visible }: ParametersOf<TriggerFilters & { readonly visible: Condition }>) => {
    let triggers = selectTriggers(visible);
    if (agentId) triggers = triggers.where('t.agentId', '=', agentId);
    if (active) triggers = triggers.where('t.isActive', '=', sql.lit(true));
    if (inactive) triggers = triggers.where('t.isActive', '=', sql.lit(false));
    return triggers;
  },
  [{ column: 't.id', type: 'uuid', descending: true }],
);

/** Returns the triggers that the caller sees, newest first. */
export function listTriggerRows(ctx: Scoped, filters: TriggerFilters, page: PageRequest) {
  return triggerList(ctx.em, { ...filters, visible: visibleTo(ctx, EventTrigger, 't') }, page);
}

/** Returns how many triggers a workspace has. Requests count one after another, so that two at once can't both be the last. */
export async function countTriggers(tx: Pick<TenantTransaction, 'em'>, workspaceId: string): Promise<number> {
  await row(tx.em, query.selectFrom('workspaces').where('id', '=', workspaceId).select('id').forNoKeyUpdate());
  const counted = await row(
    tx.em,
    query
      .selectFrom('event_triggers')
      .where('workspaceId', '=', workspaceId)
      .where('deletedAt', 'is', null)
      .select(sql<number>`count(*)::int`.as('total')),
  );
  return counted?.total ?? 0;
}
