import { readWriteCall } from '../../db/knowledge/items/written-items.ts';
import { writeDeferred } from '../../domain/knowledge/items/write-item.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { WriteItemActivities } from '../../workflows/contracts/knowledge/items.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsRun } from '../runs/as-run.ts';
import { wishOf } from '../tools/builtin/knowledge-write.ts';

/** The activity of `writeItem`, in the signed tenant of the run whose call waits. */
export function createWriteActivities(deps: ActivityDeps): WriteItemActivities {
  return {
    async writeKnowledge({ runId, toolCallId, kbId }) {
      const transact = <R>(work: (tx: TenantTransaction) => Promise<R>) => transactAsRun(deps, runId, work);
      const call = await transact((tx) => readWriteCall(tx, toolCallId));
      // Erased with its run.
      if (!call?.args) return false;
      const { organizationId, workspaceId, args } = call;
      const wish = { runId, toolCallId, place: { organizationId, workspaceId }, wish: wishOf(args) };
      const outcome = await writeDeferred({ transact, embedder: deps.embedder }, wish, kbId);
      deps.log.info({ run_id: runId, tool_call_id: toolCallId, outcome }, 'deferred write tried');
      return outcome === 'waiting';
    },
  };
}
