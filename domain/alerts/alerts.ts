import { emitAlert } from '../../db/alerts/emit.ts';
import { readAlert, type AlertRow } from '../../db/alerts/alerts.ts';
import { lockStateOf, quietGroup, setAlertMarks } from '../../db/alerts/handle.ts';
import { AlertRule } from '../../db/alerts/alert-rule.entity.ts';
import { Alert } from '../../db/alerts/alert.entity.ts';
import { seeForChange, type Changing } from '../../db/scope.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';

/** What a person changes about an open alert; undefined: stays as it is. */
export interface AlertHandling {
  readonly acknowledged?: boolean;
  /** Null ends the snooze. */
  readonly snoozeUntil?: Date | null;
  readonly isResolved?: true;
}

const maxSnoozeMs = 30 * 86_400_000;

/**
 * Acknowledges, snoozes or resolves an open alert. A resolved alert notifies the targets of its rule, and if the breach lasts, the next alert opens no earlier
 * than the rule would have repeated this one. Returns the alert as it was.
 * @throws 409 `alert_resolved`; 422 for a snooze that ends before now or in more than 30 days.
 */
export async function handleAlert(ctx: Changing, alertId: string, handling: AlertHandling, at: Date): Promise<AlertRow> {
  const before = await readAlert(ctx, alertId);
  // The tick locks the state before the alert, so this does too.
  await lockStateOf(ctx, before);
  const { status, ruleId } = await seeForChange(ctx, Alert, alertId);
  if (status === 'resolved') throw fail('state_conflict', { reason: 'alert_resolved', detail: 'The alert is already resolved.' });
  const { acknowledged, snoozeUntil, isResolved } = handling;
  if (snoozeUntil) refuseSnooze(snoozeUntil, at);

  if (acknowledged !== undefined || snoozeUntil !== undefined)
    await setAlertMarks(ctx, alertId, {
      ...(acknowledged === undefined ? {} : acknowledgement(ctx, acknowledged, at)),
      ...(snoozeUntil === undefined ? {} : { snoozedUntil: snoozeUntil }),
    });
  if (isResolved) await resolveByHand(ctx, { alertId, ruleId }, at);
  return before;
}

function acknowledgement({ caller }: Changing, isAcknowledged: boolean, at: Date) {
  return isAcknowledged
    ? { acknowledgedAt: at, acknowledgedByUserId: caller.userId }
    : { acknowledgedAt: null, acknowledgedByUserId: null };
}

function refuseSnooze(until: Date, at: Date): void {
  if (until <= at) throw invalid('/snooze_until', 'range', 'must be in the future');
  if (until.getTime() - at.getTime() > maxSnoozeMs) throw invalid('/snooze_until', 'range', 'must be at most 30 days ahead');
}

async function resolveByHand(
  ctx: Changing,
  { alertId, ruleId }: { readonly alertId: string; readonly ruleId: string },
  at: Date,
): Promise<void> {
  const rule = await ctx.em.findOneOrFail(AlertRule, { id: ruleId });
  const byUserId = ctx.caller.userId;
  await emitAlert(ctx, rule, { event: 'resolved', alertId, resolution: 'manual', ...(byUserId === null ? {} : { byUserId }) }, at);
  await quietGroup(ctx, alertId, { at, quietUntil: new Date(at.getTime() + rule.repeatIntervalS * 1_000) });
}
