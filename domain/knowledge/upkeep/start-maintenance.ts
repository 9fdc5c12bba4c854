import type { KnowledgeBaseRow } from '../../../db/knowledge/bases/bases.ts';
import { readPolicy, shareMaintainedBase } from '../../../db/knowledge/bases/maintained-base.ts';
import { nextItemIds } from '../../../db/knowledge/upkeep/integrity.ts';
import type { KnowledgeRun } from '../../../db/knowledge/runs/knowledge-run.entity.ts';
import { payingWorkspace } from '../../../db/knowledge/items/pending-items.ts';
import { assertActive, type Changing } from '../../../db/scope.ts';
import { fail, invalid } from '../../../workflows/contracts/failure.ts';
import { checkBudgets } from '../../billing/budgets.ts';
import { refuseFrozenBase } from '../bases/frozen-base.ts';
import { judgedTasks, type MaintenanceTask } from './maintenance.ts';
import { startKnowledgeRun } from '../runs/runs.ts';
import { seeBase } from '../bases/see-base.ts';

export interface NewMaintenance {
  readonly tasks: readonly MaintenanceTask[];
  /** Undefined: true for a run that repairs, false for others. */
  readonly dryRun: boolean | undefined;
  readonly itemIds: readonly string[] | undefined;
  readonly currency: string;
}

/** Locks a base that the caller manages against a freeze. Throws 404, 403, 423 when its organization or workspace is not active. */
export async function manageBase(ctx: Changing, kbId: string): Promise<KnowledgeBaseRow> {
  await shareMaintainedBase(ctx, kbId);
  const base = await seeBase(ctx, kbId, 'manage');
  await assertActive(ctx.em, base);
  return base;
}

/**
 * Starts a run of maintenance on a base.
 * @throws 404, 403; 422 `judge_model_required`, `reference` for ids of other bases; 423 for a frozen base, unless the run only verifies; 402, 429 by the
 * budget.
 */
export async function startMaintenance(
  ctx: Changing,
  kbId: string,
  { tasks, dryRun, itemIds, currency }: NewMaintenance,
): Promise<KnowledgeRun> {
  const base = await manageBase(ctx, kbId);
  const { judgeModel } = await readPolicy(ctx, kbId);
  refuseUnjudged(tasks, judgeModel);
  if (itemIds !== undefined) await refuseForeignItems(ctx, kbId, itemIds);
  if (tasks.some((task) => task !== 'verify')) refuseFrozenBase(base);
  const workspaceId = await payingWorkspace(ctx, base);
  if (workspaceId !== null) await checkBudgets(ctx, workspaceId);
  const params = itemIds === undefined ? {} : { item_ids: itemIds };
  return startKnowledgeRun(ctx, base, { kind: 'maintenance', tasks, dryRun: dryRun ?? tasks.includes('repair'), params, currency });
}

/** Throws 422 `judge_model_required` for tasks that ask a judge, when none is named. */
export function refuseUnjudged(tasks: readonly string[], judgeModel: string | null): void {
  if (judgeModel !== null || !judgedTasks.some((task) => tasks.includes(task))) return;
  throw fail('validation_failed', {
    reason: 'judge_model_required',
    detail: 'The tasks contradictions and consolidate require a judge_model in the maintenance policy of the base.',
    errors: [
      { in: 'body', pointer: '/tasks', name: null, rule: 'judge_model_required', message: 'The maintenance policy has no judge_model.' },
    ],
  });
}

async function refuseForeignItems(ctx: Changing, kbId: string, itemIds: readonly string[]): Promise<void> {
  const found = new Set(await nextItemIds(ctx, kbId, { after: null, ids: itemIds, limit: itemIds.length }));
  const at = itemIds.findIndex((id) => !found.has(id));
  if (at !== -1) throw invalid(`/item_ids/${at}`, 'reference', 'The base has no such live item.', { kind: 'item' });
}
