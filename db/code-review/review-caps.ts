import { reviewDayCapKey, reviewPullCapKey, runCapKey } from '../billing/cap-keys.ts';
import { openCaps } from '../billing/caps.ts';
import { rateInForce } from '../billing/fx-rates.ts';
import { databaseTime } from '../database-time.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ReviewRun } from './review-run.ts';

/** A review, as far as its caps go. */
export type CappedReview = Pick<ReviewRun, 'runId' | 'organizationId' | 'workspaceId' | 'startedAt' | 'pull' | 'binding'>;

/**
 * Opens the caps that a binding sets above a review (per day, per pull request, per review), with the limits of now, and says whether all of them and the workspace's own budgets have room
 * left. `currency`: the deployment's, in which caps are kept; one in another currency is converted by the rate of the day, and without a rate it is full.
 */
export async function openReviewCaps(tx: TenantTransaction, run: CappedReview, currency: string): Promise<boolean> {
  const { per_day: perDay, per_pr: perPull, per_review: perReview, currency: own } = run.binding.budgetConfig;
  const rate = (await rateInForce(tx, { base: own, quote: currency }))?.rate ?? null;
  const day = (run.startedAt ?? (await databaseTime(tx.em))).toISOString().slice(0, 10);
  const wanted = [
    { capKey: reviewDayCapKey(run.binding.id, day), limit: perDay },
    { capKey: reviewPullCapKey(run.pull.id), limit: perPull },
    { capKey: runCapKey(run.runId), limit: perReview },
  ];
  const caps = wanted.flatMap(({ capKey, limit }) => (limit === null ? [] : [{ capKey, limit }]));
  if (caps.length > 0 && rate === null) return false;
  const place = { organizationId: run.organizationId, workspaceId: run.workspaceId };
  await openCaps(
    tx,
    caps.map((cap) => ({ ...cap, ...place, currency })),
  );
  await setLimits(tx, caps, rate ?? '1');
  const full = await row<{ full: boolean }>(
    tx.em,
    `select exists (select from budget_windows b where b.workspace_id = ? and b.closed_at is null and b.is_enforced and b.limit_amount is not null
       and (b.cap_key is null or b.cap_key = any (?)) and b.spent >= b.limit_amount and (b.window_end is null or b.window_end > now())) as full`,
    [run.workspaceId, wanted.map(({ capKey }) => capKey)],
  );
  return full?.full !== true;
}

/** The limit of a cap that is open follows its binding. */
async function setLimits(
  tx: TenantTransaction,
  caps: readonly { readonly capKey: string; readonly limit: string }[],
  rate: string,
): Promise<void> {
  for (const { capKey, limit } of caps) {
    await rows(
      tx.em,
      `update budget_windows set limit_amount = round(?::numeric * ?::numeric, 9) where cap_key = ? and closed_at is null`,
      [limit, rate, capKey],
    );
  }
}
