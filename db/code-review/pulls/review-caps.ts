import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { reviewDayCapKey, reviewPullCapKey, runCapKey } from '../../billing/budgets/cap-keys.ts';
import { openCaps } from '../../billing/budgets/caps.ts';
import { rateInForce } from '../../billing/prices/fx-rates.ts';
import { databaseTime } from '../../database-time.ts';
import { clockTime, now } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { ReviewRun } from './review-run.ts';

/** The part of a review that its caps need. */
export type CappedReview = Pick<ReviewRun, 'runId' | 'organizationId' | 'workspaceId' | 'startedAt' | 'pull' | 'binding'>;

const fullWindow = prepared(
  ({ workspaceId, capKeys }: ParametersOf<{ readonly workspaceId: string; readonly capKeys: readonly string[] }>) =>
    query.selectNoFrom(({ exists, selectFrom }) =>
      exists(
        selectFrom('budget_windows as b')
          .select('b.id')
          .where('b.workspaceId', '=', workspaceId)
          .where('b.closedAt', 'is', null)
          .where('b.isEnforced', '=', sql.lit(true))
          .where('b.limitAmount', 'is not', null)
          .where(({ eb, or }) => or([eb('b.capKey', 'is', null), eb('b.capKey', '=', sql<string>`any(${capKeys}::text[])`)]))
          .whereRef('b.spent', '>=', 'b.limitAmount')
          .where(({ eb, or }) => or([eb('b.windowEnd', 'is', null), eb('b.windowEnd', '>', now)])),
      ).as('isFull'),
    ),
);

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
  const full = await row(tx.em, fullWindow({ workspaceId: run.workspaceId, capKeys: wanted.map(({ capKey }) => capKey) }));
  return full?.isFull !== true;
}

interface CapLimit {
  readonly capKey: string;
  readonly limit: string;
  readonly runId: string;
  readonly rate: string;
}

const settingLimit = prepared(({ capKey, limit, runId, rate }: ParametersOf<CapLimit>) =>
  query
    .updateTable('budget_windows')
    .set(({ ref, selectFrom }) => {
      const ownMost = selectFrom('runs as r')
        .select(sql`(r.limits ->> 'max_cost')::numeric`.as('most'))
        .where('r.id', '=', runId)
        .where(sql<boolean>`${ref('budget_windows.capKey')} = 'run:' || r.id`);
      return { limitAmount: sql<string>`least(round(${limit}::numeric * ${rate}::numeric, 9), ${ownMost})` };
    })
    .where('capKey', '=', capKey)
    .where('closedAt', 'is', null),
);

/** The limit of an open cap follows its binding; that of a run stays below its own `max_cost`. */
async function setLimits(
  tx: TenantTransaction,
  caps: readonly Pick<CapLimit, 'capKey' | 'limit'>[],
  { runId, rate }: Pick<CapLimit, 'runId' | 'rate'>,
): Promise<void> {
  for (const { capKey, limit } of caps) await change(tx.em, settingLimit({ capKey, limit, runId, rate }));
}

/** At most `limit` caps of pull requests that are no longer followed and of past days, when none of their reviews is at work. */
function overCaps(limit: number) {
  return sql<{ id: string; spent: string; pullId: string | null }>`(
    select b.id, b.spent, p.id as pull_id from budget_windows b
      left join review_pull_requests p on b.cap_key = 'review-pr:' || p.id
      left join repo_bindings g on g.id = p.binding_id and g.deleted_at is null
      cross join lateral (select case when starts_with(b.cap_key, 'review-day:') then split_part(b.cap_key, ':', 2)::uuid end as binding_id,
        case when starts_with(b.cap_key, 'review-day:') then split_part(b.cap_key, ':', 3)::date end as day) d
     where b.closed_at is null and b.period = 'cap' and starts_with(b.cap_key, 'review-')
       and case when d.day is null then g.id is null or (p.state = 'closed' and p.due_at is null) else d.day < (now() at time zone 'UTC')::date end
       and not exists (select from runs r where r.status in ('queued', 'running', 'waiting', 'cancelling')
         and (r.review_pull_request_id = p.id or (r.binding_id = d.binding_id and (r.started_at at time zone 'UTC')::date = d.day)))
     order by b.period, b.id limit ${limit} for update of b)`;
}

/**
 * Closes at most `limit` caps that are over, and stores on pull requests what theirs have counted, from which a new cap starts; returns how many. Sweeper's
 * pool.
 */
export function closeOverCaps(em: SqlEntityManager, limit: number): Promise<number> {
  return change(
    em,
    query
      .with(
        (cte) => cte('over').materialized(),
        () => overCaps(limit),
      )
      .with('kept', (of) =>
        of
          .updateTable('review_pull_requests')
          .from('over')
          .set(({ ref }) => ({
            spent: sql<string>`greatest(${ref('review_pull_requests.spent')}, ${ref('over.spent')})`,
            updatedAt: now,
          }))
          .whereRef('review_pull_requests.id', '=', 'over.pullId'),
      )
      .updateTable('budget_windows')
      .from('over')
      .set({ closedAt: clockTime })
      .whereRef('budget_windows.id', '=', 'over.id'),
  );
}
