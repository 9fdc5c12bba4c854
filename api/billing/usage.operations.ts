import type { usageKinds } from '../../db/billing/ledger/usage-entry.entity.ts';
import { listUsageGroups } from '../../db/billing/ledger/usage-groups.ts';
import { listUsageRecords } from '../../db/billing/ledger/usage-records.ts';
import { mapPage } from '../../db/page.ts';
import { openReadOnly } from '../../db/transaction.ts';
import { checkExportRange, checkRollupRange, endOfBucket } from '../../domain/billing/usage-range.ts';
import { area, list, raw } from '../http/operation/operation.ts';
import { plainText } from '../http/input/schema.ts';
import { exportsOf } from './dependencies.ts';
import { exportTypes, sendExport } from './export-usage.ts';
import {
  toUsageGroupView,
  toUsageRecordView,
  UsageExportFilters,
  UsageFilters,
  UsageGroupView,
  UsageRecordFilters,
  UsageRecordView,
} from './usage.schema.ts';

export const usage = area('Billing', {
  listUsage: list(
    '/usage',
    {
      summary: 'Aggregate usage',
      description:
        'Calls, tokens and cost, grouped by up to four keys. The sums match the ledger exactly; each currency has its own groups.',
      access: 'viewer',
      paging: 'offset',
      order: 'the keys in the order of group_by, days newest first; then currency',
      query: UsageFilters,
      view: UsageGroupView,
    },
    async (ctx, { query }) => {
      const { group_by: groupBy = ['day'], from, timezone: zone } = query;
      const to = query.to ?? endOfBucket(ctx.deps.now());
      checkRollupRange({ from, to, zone });
      const filters = { ...filtersOf(query), groupBy, from, to, zone };
      return mapPage(await listUsageGroups(ctx, filters, ctx.page), (group) => toUsageGroupView(group, groupBy));
    },
  ),

  listUsageRecords: list(
    '/usage/records',
    {
      summary: 'List the ledger',
      description: 'Every call that may have cost something, with one record per try, and its corrections. Records are never changed.',
      access: 'member',
      paging: 'keyset',
      order: 'occurred_at descending, id descending',
      query: UsageRecordFilters,
      view: UsageRecordView,
    },
    async (ctx, { query }) =>
      mapPage(await listUsageRecords(ctx, { ...filtersOf(query), ...boundsOf(query) }, ctx.page), toUsageRecordView),
  ),

  exportUsage: raw(
    '/usage/export',
    {
      summary: 'Export the ledger',
      description:
        'The records of a range of at most 400 days, oldest first, as CSV (RFC 4180, with a header) or as JSON Lines. Texts that a spreadsheet would interpret as a formula are prefixed with an apostrophe. A reply that is not terminated properly is incomplete: repeat the request.',
      access: 'admin',
      query: UsageExportFilters,
      produces: exportTypes.csv,
      alsoProduces: { [exportTypes.ndjson]: plainText('One UsageRecordView per line') },
    },
    async ({ caller, floor, correlationId, deps, tenant, actor }, { query }, http) => {
      checkExportRange(query.from, query.to);
      const { tx } = openReadOnly(deps.db, { tenant, actor, correlationId });
      const filters = { ...filtersOf(query), ...boundsOf(query), from: query.from, to: query.to };
      await sendExport(http, { ...tx, caller, floor }, { filters, format: query.format ?? 'csv', exports: exportsOf(deps) });
    },
  ),
});

interface SharedFilters {
  readonly workspace_id?: string;
  readonly agent_id?: string;
  readonly model?: string;
  readonly kind?: (typeof usageKinds)[number];
  readonly user_id?: string;
}

function filtersOf({ workspace_id: workspaceId, agent_id: agentId, model, kind, user_id: userId }: SharedFilters) {
  return { workspaceId, agentId, model, kind, userId };
}

function boundsOf({ run_id: runId, from, to }: { readonly run_id?: string; readonly from?: string; readonly to?: string }) {
  return { runId, from, to };
}
