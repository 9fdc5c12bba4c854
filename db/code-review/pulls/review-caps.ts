import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { reviewDayCapKey, reviewPullCapKey, runCapKey } from '../../billing/budgets/cap-keys.ts';
import { openCaps } from '../../billing/budgets/caps.ts';
import { rateInForce } from '../../billing/prices/fx-rates.ts';
import { databaseTime } from '../../database-time.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { ReviewRun } from './review-run.ts';

/** The part of a review that its caps need. */
export type CappedReview = Pick<ReviewRun, 'runId' | 'organizationId' | 'workspaceId' | 'startedAt' | 'pull' | 'binding'>;

/**
 * Opens the caps that a binding sets for a review (per day, per pull request, per review), with the current limits, and returns whether all of them and the
 * workspace's own budgets have room left. `currency`: the deployment's, in which caps are counted; a cap in another currency is converted by the rate of the
 * day, and counts as full without a rate.
 */
export async function openReviewCaps(tx: TenantTransaction, run: CappedReview, currency: string): Promise<boolean> {
  const { per_day: perDay, per_pr: perPull, per_review: perReview, currency: own } = run.binding.budgetConfig;
  const rate = (await rateInForce(tx, { base: own, quote: currency }))?.rate ?? null;
  const day = (run.startedAt ?? (await databaseTime(tx.em))).toISOString().slice(0, 10);
  const wanted = [
    { capKey: reviewDayCapKey(run.binding.id, day), limit: perDay },
    { capKey: reviewPullCapKey(run.pull.id), limit: perPull, spent: run.pull.spent },
    { capKey: runCapKey(run.runId), limit: perReview },
  ];
  const caps = wanted.flatMap(({ limit, ...cap }) => (limit === null ? [] : [{ ...cap, limit }]));
  if (caps.length > 0 && rate === null) return false;
  const place = { organizationId: run.organizationId, workspaceId: run.workspaceId };
  await openCaps(
    tx,
    caps.map((cap) => ({ ...cap, ...place, currency })),
  );
  await setLimits(tx, caps, { runId: run.runId, rate: rate ?? '1' });
  const full = await row<{ full: boolean }>(
    tx.em,
    `select exists (select from budget_windows b where b.workspace_id = ? and b.closed_at is null and b.is_enforced and b.limit_amount is not null
       and (b.cap_key is null or b.cap_key = any (?)) and b.spent >= b.limit_amount and (b.window_end is null or b.window_end > now())) as full`,
    [run.workspaceId, wanted.map(({ capKey }) => capKey)],
  );
  return full?.full !== true;
}

/** The limit of an open cap follows its binding; that of a run stays below its own `max_cost`. */
async function setLimits(
  tx: TenantTransaction,
  caps: readonly { readonly capKey: string; readonly limit: string }[],
  { runId, rate }: { readonly runId: string; readonly rate: string },
): Promise<void> {
  for (const { capKey, limit } of caps) {
    await rows(
      tx.em,
      `update budget_windows b set limit_amount = least(round(?::numeric * ?::numeric, 9),
         (select (r.limits ->> 'max_cost')::numeric from runs r where r.id = ? and b.cap_key = 'run:' || r.id)) where b.cap_key = ? and b.closed_at is null`,
      [limit, rate, runId, capKey],
    );
  }
}

/** Caps of pull requests that are no longer followed and of past days, when none of their reviews is at work. */
const overCaps = `select b.id, b.spent, p.id as pull_id from budget_windows b
    left join review_pull_requests p on b.cap_key = 'review-pr:' || p.id
    left join repo_bindings g on g.id = p.binding_id and g.deleted_at is null
    cross join lateral (select case when starts_with(b.cap_key, 'review-day:') then split_part(b.cap_key, ':', 2)::uuid end as binding_id,
      case when starts_with(b.cap_key, 'review-day:') then split_part(b.cap_key, ':', 3)::date end as day) d
  where b.closed_at is null and b.period = 'cap' and starts_with(b.cap_key, 'review-')
    and case when d.day is null then g.id is null or (p.state = 'closed' and p.due_at is null) else d.day < (now() at time zone 'UTC')::date end
    and not exists (select from runs r where r.status in ('queued', 'running', 'waiting', 'cancelling')
      and (r.review_pull_request_id = p.id or (r.binding_id = d.binding_id and (r.started_at at time zone 'UTC')::date = d.day)))
  order by b.period, b.id limit ? for update of b`;

/**
 * Closes at most `limit` caps that are over, and stores on pull requests what theirs have counted, from which a new cap starts; returns how many. Sweeper's
 * pool.
 */
export async function closeOverCaps(em: SqlEntityManager, limit: number): Promise<number> {
  const closed = await rows(
    em,
    `with over as materialized (${overCaps}),
       kept as (update review_pull_requests p set spent = greatest(p.spent, o.spent), updated_at = now() from over o where p.id = o.pull_id)
     update budget_windows w set closed_at = clock_timestamp() from over o where w.id = o.id returning w.id`,
    [limit],
  );
  return closed.length;
}
