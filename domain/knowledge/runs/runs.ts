import { creatorOf } from '../../../db/actor-ref.ts';
import type { KnowledgeRun } from '../../../db/knowledge/runs/knowledge-run.entity.ts';
import { lockKnowledgeRun, readRun, type RunRow } from '../../../db/knowledge/runs/runs.ts';
import { makeRun, type NewRun } from '../../../db/knowledge/runs/write-runs.ts';
import { readSyncNo } from '../../../db/knowledge/sources/sources.ts';
import type { BasePlace } from '../../../db/knowledge/items/write-chunks.ts';
import { workflowOfRun, knowledgeRunSignals } from '../../../workflows/contracts/knowledge/runs.ts';
import { addOutbox } from '../../../db/outbox.ts';
import { assertActive, type Changing } from '../../../db/scope.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { taskQueues, workflowIds } from '../../../workflows/contracts/queues.ts';

/**
 * Creates the run of a maintenance, an import, an export or a purge, and starts its workflow `maint:<run>` after the commit. The operation checks the caller's
 * rights. Throws 403 for a base of the platform, for which no organization pays.
 */
export async function startKnowledgeRun(tx: TenantTransaction, base: BasePlace, made: Omit<NewRun, 'requestedBy'>): Promise<KnowledgeRun> {
  const { organizationId, workspaceId } = base;
  if (organizationId === null) throw fail('resource_forbidden', { detail: 'Platform bases have no runs.' });
  const run = makeRun(tx, base, { ...made, requestedBy: creatorOf(tx.actor) });
  await tx.em.flush();
  await startRunWorkflow(tx, { id: run.id, kbId: run.kbId, organizationId, workspaceId });
  return run;
}

/** A run whose workflow is to be started. */
export interface RunToStart {
  readonly id: string;
  readonly kbId: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

/** Starts `maint:<run>` after the commit. `occasion` names a start after the first one, for a workflow that was lost. */
export async function startRunWorkflow(
  tx: TenantTransaction,
  { id, kbId, organizationId, workspaceId }: RunToStart,
  occasion?: string,
): Promise<void> {
  const workflowId = workflowIds.knowledgeRun(id);
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'knowledgeRun',
      workflowId,
      taskQueue: taskQueues.bulk,
      args: [{ runId: id }],
      organizationId,
      workspaceId,
      correlationId: tx.correlationId,
      reuse: 'reject_duplicate',
      priority: 5,
      searchAttributes: { SourceId: kbId },
    },
    { dedupeKey: occasion === undefined ? workflowId : `${workflowId}:${occasion}` },
  );
}

/**
 * Cancels a run, and returns its row as it was. A run that is already being cancelled stays so.
 * @throws 404; 403 without manage on its base (a purge: or the rank of an admin); 409 `already_terminal`, `cut_over`; 423
 */
export async function cancelKnowledgeRun(ctx: Changing, runId: string): Promise<RunRow> {
  const shown = await readRun(ctx, runId);
  if (!shown.canManage && !(shown.isAdmin && shown.kind === 'purge')) throw fail('resource_forbidden', { reason: 'grant_required' });
  const run = await lockKnowledgeRun(ctx, runId);
  if (run === null) throw fail('resource_forbidden');
  await assertActive(ctx.em, run);
  if (run.finishedAt !== null) throw fail('state_conflict', { reason: 'already_terminal', detail: `The run has ended: ${run.status}.` });
  if (run.cutOverAt !== null)
    throw fail('state_conflict', { reason: 'cut_over', detail: 'The new base has already replaced the old one.' });
  if (run.status === 'cancelling') return shown;

  run.status = 'cancelling';
  await ctx.em.flush();
  const workflowId = await workflowOf(ctx, run);
  if (workflowId !== null)
    await addOutbox(ctx, { kind: 'workflow.signal', workflowId, signal: knowledgeRunSignals.cancel }, { dedupeKey: `cancel:${run.id}` });
  return shown;
}

async function workflowOf(tx: TenantTransaction, { id, kind, sourceId, targetKbId }: KnowledgeRun): Promise<string | null> {
  const syncNo = kind !== 'ingest' || sourceId === null ? null : await readSyncNo(tx, { sourceId, runId: id });
  return workflowOfRun({ id, kind, sourceId, targetKbId, syncNo });
}
