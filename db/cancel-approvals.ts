import { sql } from 'kysely';
import { anyId, clockTime, now } from './expressions.ts';
import { prepared, type ParametersOf } from './prepared.ts';
import { query } from './query.ts';
import { rows } from './sql.ts';
import type { FrameDraft } from './streams/frame.schema.ts';
import type { RunState } from './runs/run-state.ts';
import type { TenantTransaction } from './tenant-transaction.ts';
import { resolvedFrame } from './approvals/approval-frames.ts';
import { approvalColumns, changedColumns, responseColumn } from './approvals/approval-view.ts';

const cancelledOf = prepared(({ runIds }: ParametersOf<{ readonly runIds: readonly string[] }>) =>
  query
    .with('cancelled', (of) =>
      of
        .updateTable('approvals')
        .set({ status: 'cancelled', resolvedAt: clockTime })
        .where('runId', '=', anyId(runIds))
        .where('status', '=', sql.lit('pending'))
        .returning(changedColumns),
    )
    .with('counted', (of) =>
      of
        .updateTable('runs')
        .from(({ selectFrom }) =>
          selectFrom('cancelled as q')
            .innerJoin('runs as d', 'd.id', 'q.runId')
            .innerJoinLateral(sql<{ id: string }>`unnest(array_append(d.lineage, d.id))`.as<'u'>(sql`u (id)`), (join) => join.onTrue())
            .select(['u.id', sql<number>`count(*)::int`.as('own')])
            .groupBy('u.id')
            .as('n'),
        )
        .set(({ ref }) => ({
          pendingApprovals: sql<number>`greatest(0, ${ref('runs.pendingApprovals')} - ${ref('n.own')})`,
          updatedAt: now,
        }))
        .whereRef('runs.id', '=', 'n.id'),
    )
    .selectFrom('cancelled as a')
    .select(approvalColumns)
    .select(responseColumn)
    .orderBy('a.id'),
);

/**
 * Withdraws the pending questions of runs that are cancelled or over, and of no other runs. The caller passes all of them and has locked them, their
 * ancestors and the descendants that end with them. Returns the frames by run, which the caller appends before the run's own. Sends no statement when
 * nothing is pending.
 */
export async function cancelApprovals(
  tx: TenantTransaction,
  runs: readonly RunState[],
): Promise<ReadonlyMap<string, readonly FrameDraft[]>> {
  const frames = new Map<string, FrameDraft[]>();
  const asking = runs.filter((run) => run.pending_approvals > 0);
  if (asking.length === 0) return frames;

  const cancelled = await rows(tx.em, cancelledOf({ runIds: asking.map(({ id }) => id) }));
  for (const approval of cancelled) frames.set(approval.runId, [...(frames.get(approval.runId) ?? []), resolvedFrame(approval)]);
  return frames;
}
