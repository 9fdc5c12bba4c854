import { cancellationSignal } from '@temporalio/activity';
import { sealAll } from '../../domain/audit/seal-all.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/upkeep/maintenance.ts';
import type { ActivityDeps } from '../deps.ts';
import { eraseByAge } from './erase-by-age.ts';

/**
 * Activities that seal the audit log, anchor its heads once an hour, and expire old entries; across tenants, on the sweeper's pool, repeatable at any point.
 */
export function createAuditActivities({
  db,
  keys,
  log,
  anchor,
  dispatch,
}: Pick<ActivityDeps, 'db' | 'keys' | 'log' | 'anchor' | 'dispatch'>): Pick<MaintenanceActivities, 'sealAudit' | 'runRetention'> {
  return {
    async sealAudit() {
      const { entries } = await sealAll(db, keys, { log, signal: cancellationSignal() });
      await anchor.appendWhenDue();
      return entries;
    },
    runRetention: async () => (await eraseByAge({ db, keys, log, signal: cancellationSignal(), send: dispatch })).auditEntries,
  };
}
