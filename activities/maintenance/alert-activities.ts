import { organizationsWithRules } from '../../db/alerts/due.ts';
import { newId } from '../../db/ids.ts';
import { openReadOnly, organizationTenant, sweep, systemActor } from '../../db/transaction.ts';
import { judgeTick, partsOf, readTick } from '../../domain/alerts/tick.ts';
import { restartLostDeliveries, sweepAlerts } from '../../domain/alerts/upkeep.ts';
import { signOrganization, verifyOrganization } from '../../temporal/header.ts';
import type { AlertTick, MaintenanceActivities } from '../../workflows/contracts/upkeep/maintenance.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAndSend } from '../support/as-system.ts';
import { sweepAll } from './sweep-all.ts';

export type AlertDeps = Pick<ActivityDeps, 'db' | 'dispatch' | 'log'> & {
  readonly env: Pick<ActivityDeps['env'], 'billingCurrency'>;
  readonly keys: Pick<ActivityDeps['keys'], 'headerKeys'>;
};

/** Maximum number of signed ids in one result of an activity. */
const organizationsAPage = 20;

/** Activities of the alert tick and of the cleanup of alerts. Each may be repeated at any point. */
export function createAlertActivities(
  deps: AlertDeps,
): Pick<MaintenanceActivities, 'dueAlertOrganizations' | 'judgeAlerts' | 'sweepAlerts'> {
  const { db, log, keys } = deps;
  const { headerKeys } = keys;
  return {
    dueAlertOrganizations: async ({ after }) => {
      const restarted = after === null ? await sweep(db, (em) => restartLostDeliveries(em)) : 0;
      if (restarted > 0) log.warn({ restarted }, 'lost deliveries started again');
      const last = after === null ? null : verifyOrganization(headerKeys, after);
      const ids = await sweep(db, (em) => organizationsWithRules(em, last, organizationsAPage));
      return ids.map((id) => signOrganization(headerKeys, id));
    },
    judgeAlerts: (tick) => judgeAlerts(deps, tick),
    sweepAlerts: () => sweepAll(log, { what: 'alerts', deleteSome: (limit) => sweep(db, (em) => sweepAlerts(em, limit)) }),
  };
}

async function judgeAlerts(deps: AlertDeps, { organization, at }: AlertTick): Promise<number> {
  const organizationId = verifyOrganization(deps.keys.headerKeys, organization);
  const options = { tenant: organizationTenant(organizationId), actor: systemActor, correlationId: newId() };
  const { billingCurrency: currency } = deps.env;
  const readings = await readTick(openReadOnly(deps.db, options).tx, { organizationId, at: new Date(at), currency });
  let judged = 0;
  for (const part of partsOf(readings)) judged += await transactAndSend(deps, options, (tx) => judgeTick(tx, part, currency));
  return judged;
}
