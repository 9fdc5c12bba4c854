import { listAuditRows, readAuditRow } from '../../db/audit/entries.ts';
import { mapPage } from '../../db/page.ts';
import { get, list } from '../http/operation/operation.ts';
import { AuditEntryFilters, AuditEntryParams, AuditEntryView, toAuditEntryView } from './audit-entry.schema.ts';

export const auditLogOperations = {
  listAuditEntries: list(
    '/audit-log',
    {
      summary: 'List audit entries',
      description:
        'Who did what, newest first: entries of the workspaces in which the caller has the role admin; entries of the organization as a whole only for callers with access to the whole organization. actor_id matches both who held the credential and as whom the action was done.',
      access: 'admin',
      paging: 'keyset',
      order: 'created_at, newest first',
      query: AuditEntryFilters,
      view: AuditEntryView,
    },
    async (ctx, { query }) => mapPage(await listAuditRows(ctx, query, ctx.page), toAuditEntryView),
  ),

  getAuditEntry: get(
    '/audit-log/{entry_id}',
    {
      summary: 'Read an audit entry',
      description: 'Returns one entry of the audit log, with the changes and its number in the sealed chain.',
      access: 'admin',
      params: AuditEntryParams,
      view: AuditEntryView,
    },
    async (ctx, { params }) => toAuditEntryView(await readAuditRow(ctx, params.entry_id)),
  ),
};
