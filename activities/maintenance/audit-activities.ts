import { cancellationSignal } from '@temporalio/activity';
import { runRetention } from '../../db/audit/retention.ts';
import { sealAll } from '../../db/audit/seal-all.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/maintenance.ts';
import type { ActivityDeps } from '../deps.ts';

/** Activities that seal the audit log and end what is kept no longer; across tenants, on the sweeper's pool, repeatable at any point. */
export function createAuditActivities({
  db,
  keys,
  log,
}: Pick<ActivityDeps, 'db' | 'keys' | 'log'>): Pick<MaintenanceActivities, 'sealAudit' | 'runRetention'> {
  return {
    sealAudit: async () => (await sealAll(db, keys, { log, signal: cancellationSignal() })).entries,
    runRetention: async () => (await runRetention(db, { log, signal: cancellationSignal() })).auditEntries,
  };
}
