import { sql } from 'kysely';
import type { Condition } from '../../condition.ts';
import { anyId, literals } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { visibleToSql, tenantPredicate, visibleTo, type Changing, type Scoped } from '../../scope.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { Run } from '../run.entity.ts';

/** Selects live runs; every given field must match. */
export interface CancelFilter {
  readonly agent_id?: string;
  readonly session_key?: string;
  readonly trigger_id?: string;
  readonly evaluation_run_id?: string;
}

/** A run and its row scope. */
export type RunAddress = Awaited<ReturnType<typeof seenRuns>>[number];

const addressColumns = ['r.id', 'r.organizationId', 'r.workspaceId'] as const;

const seenAmong = prepared(({ ids, visible }: ParametersOf<{ readonly ids: readonly string[]; readonly visible: Condition }>) =>
  query.selectFrom('runs as r').select(addressColumns).where('r.id', '=', anyId(ids)).where('r.deletedAt', 'is', null).where(visible),
);

/** Returns those of the runs that the caller sees. */
export function seenRuns(ctx: Scoped, ids: readonly string[]) {
  return rows(ctx.em, seenAmong({ ids, visible: visibleToSql(ctx, Run, 'r') }));
}

/** The first matching runs, and how many match in total. */
export interface Matches {
  readonly runs: readonly RunAddress[];
  readonly matched: number;
}

/** The fields of a filter, by column. */
interface Wanted {
  readonly agentId: string | undefined;
  readonly sessionKey: string | undefined;
  readonly triggerId: string | undefined;
  readonly evaluationRunId: string | undefined;
}

function wantedBy({
  agent_id: agentId,
  session_key: sessionKey,
  trigger_id: triggerId,
  evaluation_run_id: evaluationRunId,
}: CancelFilter): Wanted {
  return { agentId, sessionKey, triggerId, evaluationRunId };
}

/** Live runs that match a filter and are not being cancelled yet. */
function selectMatches({ agentId, sessionKey, triggerId, evaluationRunId }: ParametersOf<Wanted>) {
  let found = query
    .selectFrom('runs as r')
    .where('r.deletedAt', 'is', null)
    .where('r.status', 'in', literals('queued', 'running', 'waiting'));
  if (agentId) found = found.where('r.agentId', '=', agentId);
  if (sessionKey) found = found.where('r.sessionKey', '=', sessionKey);
  if (triggerId) found = found.where('r.triggerId', '=', triggerId);
  if (evaluationRunId) found = found.where('r.evaluationRunId', '=', evaluationRunId);
  // An empty filter selects no runs, never all of them.
  return agentId || sessionKey || triggerId || evaluationRunId ? found : found.where(sql<boolean>`false`);
}

/** Those of the matches that the caller may cancel, in workspaces that take work. */
function selectCancellable({ visible, ...wanted }: ParametersOf<Wanted & { readonly visible: Condition }>) {
  return selectMatches(wanted)
    .innerJoin('workspaces as w', (join) => join.onRef('w.id', '=', 'r.workspaceId').on('w.isActive', '=', sql.lit(true)))
    .innerJoin('organizations as o', (join) => join.onRef('o.id', '=', 'w.organizationId').on('o.status', '=', sql.lit('active')))
    .where(visible);
}

const cancellable = prepared(({ limit, ...which }: ParametersOf<Wanted & { readonly visible: Condition; readonly limit: number }>) =>
  selectCancellable(which)
    .select([...addressColumns, sql<number>`(count(*) over ())::int`.as('matched')])
    .orderBy((eb) => eb('r.activatedAt', 'is not', null))
    .orderBy('r.id', 'desc')
    .limit(limit),
);

/**
 * Returns matching live runs that the caller may cancel: where its role meets the operation's floor and the workspace takes work. Queued runs come first,
 * so that the queue does not advance for nothing. Ids of other tenants match nothing.
 */
export async function matchingRuns(ctx: Changing, filter: CancelFilter, limit: number): Promise<Matches> {
  const found = await rows(ctx.em, cancellable({ ...wantedBy(filter), visible: visibleTo(ctx, Run, 'r'), limit }));
  return { runs: found, matched: found[0]?.matched ?? 0 };
}

/** A bulk cancel's row. */
export type OpenBulkCancel = NonNullable<Awaited<ReturnType<typeof lockBulkCancel>>>;

/** Locks a bulk cancel that is not finished; returns null when it is finished or does not exist. */
export function lockBulkCancel(tx: TenantTransaction, cancelId: string) {
  return row(
    tx.em,
    query
      .selectFrom('bulk_cancels as b')
      .select(['b.id', 'b.organizationId', 'b.workspaceId', 'b.filter', 'b.policy', 'b.reason', 'b.cancelled', 'b.createdAt'])
      .where('b.id', '=', cancelId)
      .where('b.finishedAt', 'is', null)
      .where(tenantPredicate(tx.tenant, 'b'))
      .forNoKeyUpdate(),
  );
}

/** A workspace in which the caller may cancel matching runs; runs created after `askedAt` are not included. */
export type MatchWorkspace = Awaited<ReturnType<typeof workspacesOfMatches>>[number];

const placesOfMatches = prepared((which: ParametersOf<Wanted & { readonly visible: Condition }>) =>
  selectCancellable(which)
    .select(['r.organizationId', 'r.workspaceId'])
    // A run's time comes from the process that created it, whose clock may be ahead.
    .select(({ ref }) => sql<string>`greatest(now(), max(${ref('r.createdAt')}))::text`.as('askedAt'))
    .groupBy(['r.organizationId', 'r.workspaceId']),
);

/** Returns the workspaces of matching live runs that the caller may cancel. */
export function workspacesOfMatches(ctx: Changing, filter: CancelFilter) {
  return rows(ctx.em, placesOfMatches({ ...wantedBy(filter), visible: visibleTo(ctx, Run, 'r') }));
}

interface Covered extends Wanted {
  readonly workspaceId: string;
  readonly createdAt: string;
  readonly limit: number;
}

const covered = prepared(({ workspaceId, createdAt, limit, ...wanted }: ParametersOf<Covered>) =>
  selectMatches(wanted)
    .select('r.id')
    .where('r.workspaceId', '=', workspaceId)
    .where('r.createdAt', '<=', createdAt)
    .orderBy((eb) => eb('r.activatedAt', 'is not', null))
    .orderBy('r.id', 'desc')
    .limit(limit),
);

/** Returns live runs that a bulk cancel covers, at most `limit`. */
export async function matchesOf(
  tx: TenantTransaction,
  { filter, workspaceId, createdAt }: OpenBulkCancel,
  limit: number,
): Promise<string[]> {
  const found = await rows(tx.em, covered({ ...wantedBy(filter), workspaceId, createdAt, limit }));
  return found.map((run) => run.id);
}
