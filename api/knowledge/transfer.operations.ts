import type { KnowledgeRun } from '../../db/knowledge/runs/knowledge-run.entity.ts';
import { readRun } from '../../db/knowledge/runs/runs.ts';
import { startExport, startImport } from '../../domain/knowledge/transfer/transfers.ts';
import { post, type AuditNote } from '../http/operation/operation.ts';
import { MaintenanceRunView, toMaintenanceRunView } from '../knowledge-maintenance/runs.schema.ts';
import { KnowledgeExport, KnowledgeImport, TransferParams } from './transfer.schema.ts';

/** Bases as files. */
export const transferOperations = {
  exportKnowledgeBase: post(
    '/knowledge-bases/{kb_id}/export',
    {
      summary: 'Export a knowledge base',
      description:
        'Starts a durable run that writes sources, live items and relations as JSON Lines, compressed with gzip. Its attachment_id is the file, which is kept for 7 days and can be read by managers of the base. The last line contains the number of lines and the SHA-256 of all lines before it. Files of sources are not included.',
      access: 'admin',
      fails: ['not_found', 'state_conflict'],
      audit: 'submit',
      idempotent: true,
      success: [202],
      location: (view: { readonly id: string }) => `/knowledge-maintenance-runs/${view.id}`,
      params: TransferParams,
      body: KnowledgeExport,
      view: MaintenanceRunView,
      example: { body: { include_vectors: true } },
    },
    async (ctx, { params, body }) => {
      const options = { includeVectors: body.include_vectors ?? false, includeGrants: body.include_grants ?? false };
      const run = await startExport(ctx, params.kb_id, { options, currency: ctx.deps.env.billingCurrency });
      ctx.audit(noteOfTransfer(run));
      return toMaintenanceRunView(await readRun(ctx, run.id));
    },
  ),

  importKnowledgeBase: post(
    '/knowledge-bases/{kb_id}/import',
    {
      summary: 'Import a bundle into a knowledge base',
      description:
        'Starts a durable run that imports a file written by an export. A file whose last line is missing or wrong is refused before the first row; otherwise each row is imported or reported as an error with line and offset. New ids are assigned and references are adapted. Vectors are imported if their model and dimension match the base.',
      access: 'admin',
      fails: ['not_found', 'state_conflict', 'resource_frozen'],
      audit: 'submit',
      idempotent: true,
      success: [202],
      location: (view: { readonly id: string }) => `/knowledge-maintenance-runs/${view.id}`,
      params: TransferParams,
      body: KnowledgeImport,
      view: MaintenanceRunView,
      example: { body: { attachment_id: '01890a5d-ac96-774b-bcce-b302099a8057', mode: 'upsert' } },
    },
    async (ctx, { params, body }) => {
      const {
        attachment_id: attachmentId,
        mode = 'create',
        dry_run: isDryRun = false,
        keep_state: keepState = false,
        include_grants: includeGrants = false,
      } = body;
      const request = { attachmentId, mode, isDryRun, keepState, includeGrants };
      const run = await startImport(ctx, params.kb_id, { request, currency: ctx.deps.env.billingCurrency });
      ctx.audit(noteOfTransfer(run));
      return toMaintenanceRunView(await readRun(ctx, run.id));
    },
  ),
};

function noteOfTransfer({ id, kbId, kind, organizationId, workspaceId }: KnowledgeRun): AuditNote {
  const place = { organizationId, workspaceId };
  return { resourceType: 'knowledge_base', resourceId: kbId, ...place, changes: { run_id: { to: id }, kind: { to: kind } } };
}
