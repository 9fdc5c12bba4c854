import { type NotNull, sql } from 'kysely';
import { anyId } from '../../expressions.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { attemptOf, type StepOfCall } from '../calls/call-in-flight.ts';

/** A try of a step whose worker was lost. */
export type LostCall = StepOfCall & { readonly attempt: number };

/** A lost call with the tenant of its row. */
export type LostCallOfTenant = Awaited<ReturnType<typeof lostCallsOfEndedRuns>>[number];

/** How long after the end of its run a call may still settle itself: its worker learns of the end with its next heartbeat. */
const graceSeconds = 60;

/** Returns all calls of an organization that are still in flight. Sweeper's pool. */
export function lostCallsOfOrganization(tx: Pick<TenantTransaction, 'em'>, organizationId: string): Promise<LostCall[]> {
  return rows(tx.em, selectLost().where('s.organizationId', '=', organizationId));
}

/**
 * Returns calls that are still in flight although their run ended a while ago: their workers were lost and no try follows. Ordered by run and step, after
 * `after` (null: from the start), so that calls that cannot be settled don't keep the others from being read.
 */
export function lostCallsOfEndedRuns(
  tx: Pick<TenantTransaction, 'em'>,
  { after, limit }: { readonly after: StepOfCall | null; readonly limit: number },
) {
  const lost = selectLost()
    .innerJoin('runs as r', 'r.id', 's.runId')
    .select(['s.organizationId', 's.workspaceId'])
    .where('r.finishedAt', '<', sql<string>`clock_timestamp() - make_interval(secs => ${graceSeconds}::int)`)
    .limit(limit);
  return rows(tx.em, after === null ? lost : lost.where(sql<boolean>`(s.run_id, s.step) > (${after.runId}::uuid, ${after.step}::int)`));
}

/** Returns the calls that runs have in flight. */
export function callsInFlightOf(tx: TenantTransaction, runIds: readonly string[]) {
  return rows(
    tx.em,
    selectLost()
      .select('s.workspaceId')
      .where('s.runId', '=', anyId([...runIds])),
  );
}

function selectLost() {
  return query
    .selectFrom('run_steps as s')
    .select(({ ref }) => ['s.runId', 's.step', attemptOf(ref('s.inFlight')).as('attempt')])
    .where('s.inFlight', 'is not', null)
    .orderBy('s.runId')
    .orderBy('s.step')
    .$narrowType<{ attempt: NotNull }>();
}
