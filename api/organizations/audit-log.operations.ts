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
        'Who did what, newest first: entries of the workspaces that the caller may read at the role admin; those of the organization as a whole only for callers of the whole organization. actor_id finds who held the credential and as whom it was done.',
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
      description: 'One entry of the audit log, with what was changed and its number in the sealed chain.',
      access: 'admin',
      params: AuditEntryParams,
      view: AuditEntryView,
    },
    async (ctx, { params }) => toAuditEntryView(await readAuditRow(ctx, params.entry_id)),
  ),
};
