import { lockPolicy, readPolicy, type PolicyFields, type PolicyRow } from '../../../db/knowledge/bases/maintained-base.ts';
import { KnowledgePolicy } from '../../../db/knowledge/bases/knowledge-policy.entity.ts';
import type { BasePlace } from '../../../db/knowledge/items/write-chunks.ts';
import { addOutbox } from '../../../db/outbox.ts';
import { checkIfMatch, type Changing } from '../../../db/scope.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail, invalid } from '../../../workflows/contracts/failure.ts';
import { policyChanged } from '../../../workflows/contracts/knowledge/runs.ts';
import { taskQueues, workflowIds } from '../../../workflows/contracts/queues.ts';
import { manageBase, refuseUnjudged } from '../upkeep/start-maintenance.ts';

export interface PolicyPut {
  readonly fields: PolicyFields;
  /** Whether the deployment has a chat model of that id. */
  readonly isJudge: (model: string) => boolean;
}

/** A policy before and after the write. */
export interface WrittenPolicy {
  readonly base: BasePlace;
  readonly before: PolicyRow;
  readonly after: PolicyRow;
}

/**
 * Writes the policy of a base, whether there was one or not, and syncs its schedule after the commit.
 * @throws 404, 403; 412 and 428 by If-Match, where a base without a policy has version 0; 422 for a judge model that does not exist, tasks without the judge
 * that they need; 423
 */
export async function putPolicy(ctx: Changing, kbId: string, { fields, isJudge }: PolicyPut): Promise<WrittenPolicy> {
  const base = await manageBase(ctx, kbId);
  if (base.organizationId === null) throw fail('resource_forbidden', { detail: 'Platform bases have no policy.' });
  await lockPolicy(ctx, kbId);
  const before = await readPolicy(ctx, kbId);
  checkIfMatch(ctx, before.version);
  refusePolicy(fields, isJudge);

  const stored = await ctx.em.findOne(KnowledgePolicy, { kbId });
  const values = { ...fields, tasks: [...fields.tasks], goldenQueries: [...fields.goldenQueries] };
  if (stored === null)
    ctx.em.persist(ctx.em.create(KnowledgePolicy, { kbId, organizationId: base.organizationId, workspaceId: base.workspaceId, ...values }));
  else Object.assign(stored, values);
  await ctx.em.flush();
  const after = await readPolicy(ctx, kbId);
  await requestSync(ctx, base, after.version);
  return { base, before, after };
}

function refusePolicy({ tasks, judgeModel, schedule }: PolicyFields, isJudge: (model: string) => boolean): void {
  if (judgeModel !== null && !isJudge(judgeModel))
    throw invalid('/judge_model', 'unknown_model', 'This deployment has no chat model of this name.');
  refuseUnjudged(tasks, judgeModel);
  if (schedule !== null && tasks.length === 0) throw invalid('/tasks', 'minItems', 'A schedule requires tasks.');
}

/** Ends the schedule of a base after the commit that deletes the base; does nothing when no policy ever created one. */
export async function endSchedule(tx: TenantTransaction, base: BasePlace, { version }: Pick<PolicyRow, 'version'>): Promise<void> {
  if (version > 0) await requestSync(tx, base, 'deleted');
}

/** Syncs the schedule of a base with its policy after the commit. `occasion` names the change: one message is sent for it. */
export async function requestSync(
  tx: TenantTransaction,
  { id, organizationId, workspaceId }: BasePlace,
  occasion: number | string,
): Promise<void> {
  if (organizationId === null) return;
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'policySync',
      workflowId: workflowIds.policySync(id),
      taskQueue: taskQueues.bulk,
      args: [{ kbId: id }],
      organizationId,
      workspaceId,
      correlationId: tx.correlationId,
      reuse: 'allow_duplicate',
      signal: policyChanged,
      priority: 5,
      searchAttributes: { SourceId: id },
    },
    { dedupeKey: `policy:${id}:${occasion}` },
  );
}
