import { claimTry, storeTry, waitOf } from '../../db/alerts/delivery-tries.ts';
import { alertRetries, judgeTry, noRetries } from '../../domain/deliveries/retries.ts';
import type { DeliverStep, NoticeActivities } from '../../workflows/contracts/notices.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { routeOf, sendAlert, type SendAlertDeps } from './send-alert.ts';

export type NoticeDeps = SendAlertDeps & Pick<ActivityDeps, 'db' | 'dispatch' | 'log' | 'metrics'>;

/** Activities of `deliver`. Each source has its own rows and tries; logs name the delivery, never its receiver. */
export function createNoticeActivities(deps: NoticeDeps): NoticeActivities {
  return {
    attemptDelivery({ source, deliveryId }) {
      switch (source) {
        case 'alert':
          return attemptAlert(deps, deliveryId);
        default:
          return source satisfies never;
      }
    },
  };
}

async function attemptAlert(deps: NoticeDeps, deliveryId: string): Promise<DeliverStep> {
  const due = await transactAsSystem(deps, async (tx) => {
    const delivery = await claimTry(tx, deliveryId);
    return delivery ? { delivery, route: await routeOf(deps, tx, delivery) } : await waitOf(tx, deliveryId);
  });
  if (due === null) return { isOver: true };
  if (typeof due === 'number') return { isOver: false, waitMs: due };

  const { delivery, route } = due;
  const { attempts, event, target } = delivery;
  const startedAt = performance.now();
  const outcome = await sendAlert(deps, delivery, route);
  const latencyMs = Math.round(performance.now() - startedAt);
  const verdict = judgeTry(outcome, { attempts, table: event === 'test' ? noRetries : alertRetries, random: Math.random() });

  const delayMs = verdict.status === 'failed' ? verdict.delayMs : null;
  const made = { status: verdict.status, lastStatus: outcome.status, lastError: outcome.error, latencyMs, delayMs };
  await transactAsSystem(deps, (tx) => storeTry(tx, delivery, made));
  deps.metrics.noticeTried(target.kind, verdict.status);
  deps.log[verdict.status === 'dead' ? 'warn' : 'info'](
    { delivery_id: deliveryId, kind: target.kind, attempt: attempts, result: verdict.status, status: outcome.status },
    'notice tried',
  );
  return delayMs === null ? { isOver: true } : { isOver: false, waitMs: delayMs };
}
