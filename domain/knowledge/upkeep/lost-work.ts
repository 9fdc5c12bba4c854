import { followedTime } from '../../../db/database-clock.ts';
import { newId } from '../../../db/ids.ts';
import type { LiveRun, LiveWork } from '../../../db/knowledge/runs/live-work.ts';
import { hasPendingItems } from '../../../db/knowledge/items/pending-items.ts';
import { lockKnowledgeRun } from '../../../db/knowledge/runs/runs.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { giveUpIngest, type Transact } from '../sources/ingest-run.ts';
import { requestIndex } from '../items/request-index.ts';
import { endGivenUp } from '../runs/run-batches.ts';
import { startRunWorkflow } from '../runs/runs.ts';
import { startIngestWorkflow } from '../sources/sources.ts';

/**
 * Resumes a run without a workflow. If the workflow is `missing` it is started again, and continues after its last commit; if it was `closed` from outside the
 * run ends as failed (`interrupted`), or as cancelled when that was requested. Returns the outcome; `left`: the run has ended meanwhile.
 */
export async function resumeRun(transact: Transact, run: LiveRun, state: 'closed' | 'missing'): Promise<'started' | 'ended' | 'left'> {
  const { id: runId, kind, sourceId, syncNo, organizationId, workspaceId, kbId } = run;
  const status = await transact(async (tx) => {
    const locked = await lockKnowledgeRun(tx, runId);
    if (locked === null || locked.finishedAt !== null) return 'left';
    if (state === 'closed' || locked.status === 'cancelling' || (kind === 'ingest' && syncNo === null)) return 'to_end';
    if (kind === 'ingest' && sourceId !== null && syncNo !== null)
      await startIngestWorkflow(tx, { sourceId, syncNo, runId, organizationId, workspaceId }, newId());
    else await startRunWorkflow(tx, { id: runId, kbId, organizationId, workspaceId }, newId());
    return 'started';
  });
  if (status !== 'to_end') return status;
  if (kind === 'ingest' && sourceId !== null) await giveUpIngest(transact, { sourceId, runId });
  // The source of an ingestion may have another run by now; the run itself still has to end.
  await transact((tx) => endGivenUp(tx, runId, followedTime(tx.em)));
  return 'ended';
}

/** Resumes the index of a base without a workflow. Returns false when no item waits for it any more. */
export async function resumeIndex(tx: TenantTransaction, base: LiveWork): Promise<boolean> {
  if (!(await hasPendingItems(tx, base.id))) return false;
  await requestIndex(tx, base, `lost:${newId()}`);
  return true;
}
