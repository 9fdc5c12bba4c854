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
 * Has a run go on that has no workflow any more. One whose workflow is `missing` gets it again, and goes on behind its last commit; one whose workflow was
 * `closed` from outside ends failed (`interrupted`), or cancelled where that is asked for. Gives what became of it; `left`: it has ended meanwhile.
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
  // An ingestion whose source has another run by now has no source to say so.
  await transact((tx) => endGivenUp(tx, runId, followedTime(tx.em)));
  return 'ended';
}

/** Has the index of a base go on that has no workflow any more. False: nothing waits for it by now. */
export async function resumeIndex(tx: TenantTransaction, base: LiveWork): Promise<boolean> {
  if (!(await hasPendingItems(tx, base.id))) return false;
  await requestIndex(tx, base, `lost:${newId()}`);
  return true;
}
