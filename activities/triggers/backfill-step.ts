import { databaseTime } from '../../db/database-time.ts';
import { readBackfill } from '../../db/schedules/backfill-queries.ts';
import { readSchedule } from '../../db/triggers/schedules.ts';
import { isOpen, nextInstants, startInstants } from '../../domain/schedules/advance-backfill.ts';
import { fillInstant, type Filled } from '../../domain/schedules/fire.ts';
import type { BackfillInput, BackfillStep } from '../../workflows/contracts/triggers/triggers.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem, transactAsSystem } from '../support/as-system.ts';
import { tenantOfActivity } from '../support/tenant.ts';

/** Does one step of a backfill: templates are filled outside the transaction that starts runs. Returns null when rows changed in between: read them again. */
export async function advance(deps: ActivityDeps, { backfillId }: BackfillInput): Promise<BackfillStep | null> {
  const read = await readAsSystem(deps, async (tx) => {
    const backfill = await readBackfill(tx, backfillId);
    const schedule = backfill && (await readSchedule(tx, backfill.scheduleId));
    if (!backfill || !schedule || !isOpen(backfill)) return null;
    return { backfill, schedule, next: await nextInstants(tx, schedule, backfill), now: await databaseTime(tx.em) };
  });
  if (read === null) return { state: 'ended' };

  const templates = deps.templates.of(tenantOfActivity().organizationId);
  const filled = new Map<number, Filled>();
  for (const { at, localTime } of read.next.strikes)
    filled.set(at, await fillInstant(templates, read.schedule, { at: new Date(at), localTime, now: read.now }));
  const step = { ...read.next, filled, currency: deps.env.billingCurrency };
  return transactAsSystem(deps, (tx) => startInstants(tx, read, step));
}
