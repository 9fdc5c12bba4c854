import { cancellationSignal } from '@temporalio/activity';
import { runRetention } from '../../db/audit/retention.ts';
import { sealAll } from '../../db/audit/seal-all.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/maintenance.ts';
import type { ActivityDeps } from '../deps.ts';

/** Activities that seal the audit log, anchor its heads once an hour, and end what is kept no longer; across tenants, on the sweeper's pool, repeatable at any point. */
export function createAuditActivities({
  db,
  keys,
  log,
  anchor,
}: Pick<ActivityDeps, 'db' | 'keys' | 'log' | 'anchor'>): Pick<MaintenanceActivities, 'sealAudit' | 'runRetention'> {
  return {
    async sealAudit() {
      const { entries } = await sealAll(db, keys, { log, signal: cancellationSignal() });
      await anchor.appendWhenDue();
      return entries;
    },
    runRetention: async () => (await runRetention(db, keys, { log, signal: cancellationSignal() })).auditEntries,
  };
}
