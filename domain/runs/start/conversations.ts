import { workflowIds } from '../../../workflows/contracts/queues.ts';
import { addOutbox } from '../../../db/outbox.ts';
import { appendFrames, stateBatch } from '../../../db/streams/append.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { pathOf } from '../../../db/runs/run-state.ts';
import { statusFrame } from '../../../db/runs/status-frame.ts';
import { activateFirst } from '../../../db/runs/start/queue-rows.ts';
import { type StartableRun, runStartMessage } from '../../../db/runs/start/conversations.ts';

/**
 * Advances the queue of a conversation whose active run has ended: the first queued run becomes active and gets its turn and its workflow; with an empty queue
 * the conversation is free. The caller has locked the conversation and written the ended run. Returns the activated run's id.
 */
export async function activateNext(tx: TenantTransaction, conversationId: string): Promise<string | null> {
  const activated = await activateFirst(tx, conversationId);
  if (!activated) return null;

  const run = {
    runId: activated.id,
    rootRunId: activated.rootRunId,
    parentRunId: activated.parentRunId,
    organizationId: activated.organizationId,
    workspaceId: activated.workspaceId,
    path: pathOf({ path: activated.path, agent_slug: activated.agentSlug }),
  };
  await appendFrames(tx, [stateBatch(run, [statusFrame({ status: 'queued', previous: 'queued' })])]);
  await addRunStart(tx, {
    id: activated.id,
    organizationId: activated.organizationId,
    workspaceId: activated.workspaceId,
    agentId: activated.agentId,
    source: activated.source,
  });
  return activated.id;
}

/** Writes the start of an active run's workflow into the outbox; a second start of the same run changes nothing. */
export async function addRunStart(tx: TenantTransaction, run: StartableRun): Promise<void> {
  await addOutbox(tx, runStartMessage(run, tx.correlationId), { dedupeKey: workflowIds.run(run.id) });
}
