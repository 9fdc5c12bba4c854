import { readRun } from '../../db/knowledge/runs/runs.ts';
import { startPurge } from '../../domain/knowledge/upkeep/purge.ts';
import { post } from '../http/operation/operation.ts';
import { KnowledgePurge, PurgeParams, toPurgeRequest } from './purge.schema.ts';
import { MaintenanceRunView, toMaintenanceRunView } from './runs.schema.ts';

/** Permanent removal. */
export const purgeOperations = {
  purgeKnowledgeBase: post(
    '/knowledge-bases/{kb_id}/purge',
    {
      summary: 'Purge a knowledge base',
      description:
        'Starts a durable run that permanently removes items, with their versions, chunks, vectors, terms, relations, cached vectors, details of findings, the sources whose files contain them and every export of the base; the log only keeps counts. They cannot be restored. result.remaining_in lists superseded bases that contain copies. all freezes the base at once and finally deletes it.',
      access: 'admin',
      fails: ['not_found', 'state_conflict'],
      audit: 'purge',
      idempotent: true,
      success: [202],
      resourceType: 'knowledge_base',
      location: (view: { readonly id: string }) => `/knowledge-maintenance-runs/${view.id}`,
      params: PurgeParams,
      body: KnowledgePurge,
      view: MaintenanceRunView,
      example: { body: { confirm: 'handbook', mode: 'tombstones', older_than_days: 30 } },
    },
    async (ctx, { params, body }) => {
      const options = { request: toPurgeRequest(body), currency: ctx.deps.env.billingCurrency, now: ctx.deps.now() };
      const { id, kbId, organizationId, workspaceId } = await startPurge(ctx, params.kb_id, options);
      const place = { organizationId, workspaceId };
      ctx.audit({ resourceType: 'knowledge_base', resourceId: kbId, ...place, changes: { mode: { to: body.mode }, run_id: { to: id } } });
      return toMaintenanceRunView(await readRun(ctx, id));
    },
  ),
};
