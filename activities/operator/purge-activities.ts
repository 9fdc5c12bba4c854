import { cancellationSignal } from '@temporalio/activity';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { keysElsewhere } from '../../db/attachments/storage-keys.ts';
import { buryOrganization, deleteBatch, dropKeys, failPurge, lockOut, openPurge } from '../../domain/operator/purge-steps.ts';
import type { Deleted } from '../../db/operator/purge-tables.ts';
import { countLiveRuns } from '../../db/operator/stopped-runs.ts';
import { sweep } from '../../db/transaction.ts';
import { isStorageKey, storagePlace } from '../../ports/storage/key.ts';
import type { PurgeActivities } from '../../workflows/contracts/upkeep/operator.ts';
import type { ActivityDeps } from '../deps.ts';
import { tenantOfActivity } from '../support/tenant.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { eraseStreamsOf } from './erase-streams.ts';
import { settleLostIn } from './settle-lost.ts';
import { stopRuns } from './stop-activities.ts';

/** After this long, a table is left for another activity. */
const maxTableMs = 120_000;

/** The activities of `orgPurge`, for the organization of the signed header. Each may be interrupted at any point and repeated. */
export function createPurgeActivities(deps: ActivityDeps): PurgeActivities {
  const step = <R>(work: (em: SqlEntityManager, organizationId: string) => Promise<R>): Promise<R> => {
    const { organizationId } = tenantOfActivity();
    return sweep(deps.db, (em) => work(em, organizationId));
  };

  /** Runs before the rows are deleted, which are the only record of these keys. */
  const removeElsewhere = async (): Promise<void> => {
    const keys = await step((em, organizationId) => keysElsewhere(em, organizationId, storagePlace(organizationId)));
    for (const key of keys) {
      cancellationSignal().throwIfAborted();
      if (isStorageKey(key)) await deps.storage.remove(key);
    }
  };

  return {
    async openPurge() {
      const tables = await step((em, organizationId) => openPurge(em, deps.keys, organizationId));
      return { isOpen: tables !== null, tables: tables ?? [] };
    },
    async stopAll() {
      await step(lockOut);
      await stopRuns(deps);
      const live = await transactAsSystem(deps, countLiveRuns);
      if (live === 0) await settleLostIn(deps, tenantOfActivity().organizationId);
      return live;
    },
    async deleteRows({ table }) {
      if (table === 'attachments') await removeElsewhere();
      if (table === 'runs') await eraseStreamsOf(deps, { organizationId: tenantOfActivity().organizationId, workspaceId: null });
      const end = performance.now() + maxTableMs;
      for (let after: string | null = null; ;) {
        const from: string | null = after;
        const batch: Deleted = await step((em, organizationId) => deleteBatch(em, organizationId, { table, after: from }));
        if (batch.isDone) return true;
        cancellationSignal().throwIfAborted();
        if (performance.now() > end) return false;
        after = batch.after;
      }
    },
    async deleteObjects() {
      const { organizationId } = tenantOfActivity();
      for await (const { key } of deps.storage.list(storagePlace(organizationId))) {
        cancellationSignal().throwIfAborted();
        await deps.storage.remove(key);
      }
    },
    dropKeys: () => step(dropKeys),
    async tombstone() {
      const isPurged = await step(buryOrganization);
      if (isPurged) deps.log.info({ organization_id: tenantOfActivity().organizationId }, 'organization purged');
      return isPurged;
    },
    async failPurge({ step: failed }) {
      await step((em, organizationId) => failPurge(em, organizationId, failed));
      deps.log.error({ organization_id: tenantOfActivity().organizationId, step: failed }, 'purge failed');
    },
  };
}
