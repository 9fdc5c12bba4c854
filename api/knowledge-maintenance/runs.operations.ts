import { listRunRows, readRun, type RunRow } from '../../db/knowledge/runs/runs.ts';
import { mapPage } from '../../db/page.ts';
import { cancelKnowledgeRun } from '../../domain/knowledge/runs/runs.ts';
import { get, list, post, type AuditNote } from '../http/operation/operation.ts';
import { startMaintenance } from '../../domain/knowledge/upkeep/start-maintenance.ts';
import { BaseRunsParams, MaintenanceRunCreate, MaintenanceRunView, RunFilters, RunParams, toMaintenanceRunView } from './runs.schema.ts';

/** Durable work on bases: what it is at, and its end before its time. */
export const runOperations = {
  createMaintenanceRun: post(
    '/knowledge-bases/{kb_id}/maintenance-runs',
    {
      summary: 'Maintain a knowledge base',
      description:
        'Starts a durable run. verify compares counters, chunks, vectors and terms with their items, and repair rebuilds what is wrong; dedupe finds items that say the same, and merges them if the policy has auto_merge; decay finds items that are past their validity or long unused; contradictions and consolidate use the judge_model of the policy; evaluate_retrieval runs its golden queries. Nothing is deleted: tasks write findings and rows derived from items. A frozen base can only be verified.',
      access: 'admin',
      fails: ['not_found', 'resource_frozen'],
      audit: 'submit',
      idempotent: true,
      spends: true,
      success: [202],
      location: (view: { readonly id: string }) => `/knowledge-maintenance-runs/${view.id}`,
      params: BaseRunsParams,
      body: MaintenanceRunCreate,
      view: MaintenanceRunView,
      example: { body: { tasks: ['verify', 'dedupe'] } },
    },
    async (ctx, { params, body }) => {
      const currency = ctx.deps.env.billingCurrency;
      const run = await startMaintenance(ctx, params.kb_id, { tasks: body.tasks, dryRun: body.dry_run, itemIds: body.item_ids, currency });
      const row = await readRun(ctx, run.id);
      ctx.audit(noteOfRun(row));
      return toMaintenanceRunView(row);
    },
  ),

  listMaintenanceRuns: list(
    '/knowledge-maintenance-runs',
    {
      summary: 'List knowledge runs',
      description:
        'Ingestion, re-embedding, import, export, maintenance and purges of the bases that the caller can read, newest first; runs of private bases are only shown to their managers and to admins of their scope.',
      access: 'member',
      paging: 'keyset',
      query: RunFilters,
      view: MaintenanceRunView,
    },
    async (ctx, { query: { kb_id: kbId, kind, status } }) =>
      mapPage(await listRunRows(ctx, { kbId, kind, status }, ctx.page), toMaintenanceRunView),
  ),

  getMaintenanceRun: get(
    '/knowledge-maintenance-runs/{run_id}',
    {
      summary: 'Read a knowledge run',
      description: 'Returns the progress, cost, errors and result of a run.',
      access: 'member',
      params: RunParams,
      view: MaintenanceRunView,
    },
    async (ctx, { params }) => toMaintenanceRunView(await readRun(ctx, params.run_id)),
  ),

  cancelMaintenanceRun: post(
    '/knowledge-maintenance-runs/{run_id}/cancel',
    {
      summary: 'Cancel a knowledge run',
      description:
        'Cancels a run; repeating the request while it is ending changes nothing. What finished batches wrote stays, including findings; an ingestion or a re-embed leaves nothing behind. 409 once a re-embed has cut over, and for a run that has ended.',
      access: 'admin',
      fails: ['not_found', 'state_conflict'],
      audit: 'submit',
      success: [202],
      params: RunParams,
      view: MaintenanceRunView,
    },
    async (ctx, { params }) => {
      const before = await cancelKnowledgeRun(ctx, params.run_id);
      const row = { ...(await readRun(ctx, params.run_id)) };
      ctx.audit(before.status === 'cancelling' ? null : noteOfRun(row));
      return toMaintenanceRunView(row);
    },
  ),
};

/** The audit note of a run. */
export function noteOfRun({
  id,
  kbId,
  kind,
  organizationId,
  workspaceId,
}: Pick<RunRow, 'id' | 'kbId' | 'kind' | 'organizationId' | 'workspaceId'>): AuditNote {
  return { resourceType: 'knowledge_run', resourceId: id, label: kind, organizationId, workspaceId, changes: { kb_id: { to: kbId } } };
}
