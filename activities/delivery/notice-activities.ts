import { claimDelivery, settleTry, verdictOf } from '../../domain/alerts/tries.ts';
import type { DeliverStep, NoticeActivities } from '../../workflows/contracts/upkeep/delivery.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { attemptCallback } from './send-callback.ts';
import { routeOf, sendAlert, type SendAlertDeps } from './send-alert.ts';

export type NoticeDeps = SendAlertDeps & Pick<ActivityDeps, 'db' | 'dispatch' | 'log' | 'metrics'>;

/** Activities of `deliver`. Each source has its own rows and tries; logs name the delivery, never its receiver. */
export function createNoticeActivities(deps: NoticeDeps): NoticeActivities {
  return {
    attemptDelivery({ source, deliveryId }) {
      switch (source) {
        case 'alert':
          return attemptAlert(deps, deliveryId);
        case 'callback':
          return attemptCallback(deps, deliveryId);
        default:
          return source satisfies never;
      }
    },
  };
}

async function attemptAlert(deps: NoticeDeps, deliveryId: string): Promise<DeliverStep> {
  const claim = await transactAsSystem(deps, async (tx) => {
    const found = await claimDelivery(tx, deliveryId);
    return found.state === 'due' ? { ...found, route: await routeOf(deps, tx, found) } : found;
  });
  if (claim.state === 'over') return { isOver: true };
  if (claim.state === 'waiting') return { isOver: false, waitMs: claim.waitMs };

  const { delivery, route } = claim;
  const startedAt = performance.now();
  const outcome = await sendAlert(deps, delivery, route);
  const latencyMs = Math.round(performance.now() - startedAt);
  const verdict = verdictOf(delivery, outcome);
  await transactAsSystem(deps, (tx) => settleTry(tx, delivery, { outcome, verdict, latencyMs }));

  const { kind } = delivery.target;
  deps.metrics.noticeTried(kind, verdict.status);
  deps.log[verdict.status === 'dead' ? 'warn' : 'info'](
    { delivery_id: deliveryId, kind, attempt: delivery.attempts, result: verdict.status, status: outcome.status },
    'notice tried',
  );
  return verdict.status === 'failed' ? { isOver: false, waitMs: verdict.delayMs } : { isOver: true };
}
