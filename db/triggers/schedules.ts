import { type Expression, sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** The columns of a schedule that its firing and its sync need. */
export type ScheduleRow = NonNullable<Awaited<ReturnType<typeof readSchedule>>>;

function selectSchedule(id: Expression<string>) {
  return query
    .selectFrom('schedules as s')
    .where('s.id', '=', id)
    .select(['s.id', 's.organizationId', 's.workspaceId', 's.agentId', 's.name', 's.description', 's.cron', 's.everySeconds', 's.runAt'])
    .select(['s.timezone', 's.dst', 's.promptTemplate', 's.inputTemplate', 's.sessionKeyTemplate', 's.personaSlugTemplate'])
    .select(['s.subjectTemplate', 's.overlap', 's.catchUpSeconds', 's.jitterSeconds', 's.startsAt', 's.endsAt', 's.pauseAfterFailures'])
    .select(['s.isActive', 's.compiled', 's.evaluatedUntil', 's.nextRunAt', 's.firesAfter', 's.syncedVersion', 's.failureStreak'])
    .select(['s.createdByUserId', 's.version', 's.createdAt', 's.deletedAt']);
}

const oneSchedule = prepared(({ id }: ParametersOf<{ readonly id: string }>) => selectSchedule(id));
const lockedSchedule = prepared(({ id }: ParametersOf<{ readonly id: string }>) => selectSchedule(id).forNoKeyUpdate());

/** Returns the row, deleted or not, or null when it is purged or another tenant's. */
export function readSchedule(tx: Pick<TenantTransaction, 'em'>, id: string) {
  return row(tx.em, oneSchedule({ id }));
}

/** The same, locked until the end of the transaction. */
export function lockSchedule(tx: TenantTransaction, id: string): Promise<ScheduleRow | null> {
  return row(tx.em, lockedSchedule({ id }));
}

/** Returns the schedule that a tool call has created, or null before that. */
export function readScheduleOfCall(tx: TenantTransaction, toolCallId: string) {
  return row(tx.em, query.selectFrom('schedules').where('toolCallId', '=', toolCallId).select(['id', 'description', 'nextRunAt']));
}

/** Returns how many schedules of a tool will still fire; no other transaction counts them until this one ends. */
export async function countActiveOfTool(
  tx: TenantTransaction,
  place: { readonly workspaceId: string; readonly toolId: string },
): Promise<number> {
  const key = sql`'schedules-of-tool:' || ${place.workspaceId}::text || ${place.toolId}::text`;
  await row(tx.em, query.selectNoFrom(sql<unknown>`pg_advisory_xact_lock(hashtextextended(${key}, 0))`.as('lock')));
  const found = await row(
    tx.em,
    query
      .selectFrom('schedules as s')
      .where('s.workspaceId', '=', place.workspaceId)
      .where('s.toolId', '=', place.toolId)
      .where('s.deletedAt', 'is', null)
      .where('s.isActive', '=', sql.lit(true))
      .where('s.nextRunAt', 'is not', null)
      .where(({ eb, or }) => or([eb('s.endsAt', 'is', null), eb('s.endsAt', '>', sql<string>`now()`)]))
      .select(sql<number>`count(*)::int`.as('n')),
  );
  return found?.n ?? 0;
}

/** Returns the facts that decide whether a workspace may have one more schedule; no other transaction counts them until this one ends. */
export async function countSchedules(
  tx: TenantTransaction,
  { organizationId, workspaceId, agentId }: { readonly organizationId: string; readonly workspaceId: string; readonly agentId: string },
): Promise<{ readonly schedules: number; readonly hasAgent: boolean }> {
  // Requests count one after another, so that two at once can't both be the last.
  await row(tx.em, query.selectFrom('workspaces').where('id', '=', workspaceId).select('id').forNoKeyUpdate());
  const found = await row(
    tx.em,
    query.selectNoFrom(({ exists, selectFrom }) => [
      selectFrom('schedules as s')
        .where('s.workspaceId', '=', workspaceId)
        .where('s.organizationId', '=', organizationId)
        .where('s.deletedAt', 'is', null)
        .select(sql<number>`count(*)::int`.as('n'))
        .as('schedules'),
      exists(
        selectFrom('agents as a')
          .where('a.id', '=', agentId)
          .where('a.deletedAt', 'is', null)
          .where(({ eb, or, and }) =>
            or([
              eb('a.scope', '=', 'platform'),
              and([
                eb('a.organizationId', '=', organizationId),
                or([eb('a.workspaceId', 'is', null), eb('a.workspaceId', '=', workspaceId)]),
              ]),
            ]),
          ),
      ).as('hasAgent'),
    ]),
  );
  return { schedules: found?.schedules ?? 0, hasAgent: found?.hasAgent === true };
}
