import { cancellationSignal } from '@temporalio/activity';
import { readScanned } from '../../db/attachments/run-attachments.ts';
import { keysWithoutRow } from '../../db/attachments/storage-keys.ts';
import { sweep } from '../../db/transaction.ts';
import { settleScan, deleteReleased, releases } from '../../domain/attachments/attachments.ts';
import type { AttachmentActivities } from '../../workflows/contracts/attachments.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/upkeep/maintenance.ts';
import type { ActivityDeps } from '../deps.ts';
import { sweepAll } from '../maintenance/sweep-all.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { askScanner } from './scanner.ts';

export type SweepDeps = Pick<ActivityDeps, 'db' | 'storage' | 'log'>;

const keysARound = 500;
/** Younger bytes may belong to a request whose row is not committed yet. */
const orphanAgeMs = 3_600_000;

/** The activities of files; each may be interrupted at any point and repeated. */
export function createAttachmentActivities(deps: ActivityDeps): AttachmentActivities & Pick<MaintenanceActivities, 'sweepAttachments'> {
  return {
    async scanAttachment({ attachmentId }) {
      const found = await transactAsSystem(deps, (tx) => readScanned(tx, attachmentId));
      if (found === null) return 'gone';
      const verdict = found.state === 'scanning' ? await askScanner(deps, found) : found.state;
      await transactAsSystem(deps, (tx) => settleScan(tx, attachmentId, verdict));
      // After the commit, and again when the activity was interrupted here: rejected bytes do not stay.
      if (verdict === 'rejected') await deps.storage.remove(found.storageKey);
      deps.log.info({ attachment_id: attachmentId, verdict }, 'attachment looked at');
      return verdict;
    },
    sweepAttachments: () => sweepAttachments(deps),
  };
}

/** Returns how many attachments and stray objects were removed. */
export async function sweepAttachments(deps: SweepDeps): Promise<number> {
  const { db, log } = deps;
  for (const { what, releaseSome } of releases) await sweepAll(log, { what, deleteSome: (limit) => releaseSome(db, limit) });
  const deleted = (await removeExpired(deps)) + (await removeStrays(deps));
  await deps.storage.tidy(new Date(Date.now() - orphanAgeMs));
  if (deleted > 0) log.info({ deleted, what: 'attachments' }, 'swept');
  return deleted;
}

/** Rows first: bytes whose removal is interrupted are strays of the next pass. */
async function removeExpired({ db, storage }: SweepDeps): Promise<number> {
  let removed = 0;
  for (;;) {
    const keys = await deleteReleased(db, keysARound);
    for (const key of keys) {
      cancellationSignal().throwIfAborted();
      await storage.remove(key);
    }
    removed += keys.length;
    if (keys.length < keysARound) return removed;
  }
}

async function removeStrays(deps: SweepDeps): Promise<number> {
  let removed = 0;
  let keys: string[] = [];
  for await (const { key, storedAt } of deps.storage.list('')) {
    if (Date.now() - storedAt.getTime() < orphanAgeMs) continue;
    keys.push(key);
    if (keys.length < keysARound) continue;
    removed += await removeAmong(deps, keys);
    keys = [];
  }
  return removed + (await removeAmong(deps, keys));
}

async function removeAmong({ db, storage }: SweepDeps, keys: readonly string[]): Promise<number> {
  cancellationSignal().throwIfAborted();
  if (keys.length === 0) return 0;
  const strays = await sweep(db, (em) => keysWithoutRow(em, keys));
  for (const key of strays) await storage.remove(key);
  return strays.length;
}
