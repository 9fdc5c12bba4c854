import { fail } from '../../../workflows/contracts/failure.ts';
import { isTerminal } from '../../../workflows/contracts/runs/runs.ts';
import { lockStreams } from '../../../db/streams/append.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { lockConversationOfRun } from '../../../db/runs/start/conversations.ts';
import { settleLostCallsOf } from '../steps/lost-calls.ts';
import { lockTree, eraseRuns } from '../../../db/runs/end/erase-rows.ts';

/**
 * Erases a run that has ended, with its descendants: messages, steps, calls and their outputs, approvals, added input, frames, and every column of content. Its
 * rows remain as names for the ledger, and its votes keep their rating. Nothing of it is found afterwards, and late writers find nothing to write to. Returns
 * the number of erased runs. Throws 404, 409 `not_a_root_run`, 409 `run_not_finished` while one of them lives.
 */
export async function purgeRun(tx: TenantTransaction, runId: string): Promise<number> {
  const conversation = await lockConversationOfRun(tx, runId);
  const tree = conversation ? await lockTree(tx, runId) : [];
  const root = tree.find((run) => run.id === runId);
  if (!root) throw fail('not_found');
  if (root.parentRunId !== null)
    throw fail('state_conflict', {
      reason: 'not_a_root_run',
      detail: 'A sub-agent’s run can only be purged with the run that it belongs to.',
    });
  if (!tree.every((run) => isTerminal(run.status)))
    throw fail('state_conflict', { reason: 'run_not_finished', detail: 'The run has not ended yet.' });

  const ids = tree.map((run) => run.id);
  await settleLostCallsOf(tx, ids);
  await lockStreams(tx, ids);
  await eraseRuns(tx, ids);
  tx.outgoing.erasedRunIds.push(...ids);
  return ids.length;
}
