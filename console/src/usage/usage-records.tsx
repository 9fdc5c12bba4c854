import { Link } from '@tanstack/react-router';
import { useCallback } from 'react';
import { api, type Views } from '../app/api.ts';
import type { Column } from '../ui/data-grid.tsx';
import { formatCount, Money } from '../ui/money.tsx';
import { ListState, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { usageTexts as u } from './messages.ts';
import type { UsageSpan } from './usage-panel.tsx';

type UsageRecord = Views['UsageRecordView'];

/** The ledger, line by line, newest first. */
export function UsageRecords({ span, workspaceId }: { readonly span: UsageSpan; readonly workspaceId: string }) {
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) => api.listUsageRecords({ ...span, cursor, limit: 50 }, { signal }),
    [span],
  );
  const list = usePagedList<UsageRecord>({ queryKey: ['usage-records', span], fetchPage });
  return (
    <Section title={u.records}>
      {list.rows.length > 0 && <Table label={u.records} columns={columnsFor(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} />
    </Section>
  );
}

function columnsFor(workspaceId: string): Column<UsageRecord>[] {
  const { record } = u;
  return [
    { id: 'at', title: record.at, cell: ({ occurred_at }) => <Time at={occurred_at} /> },
    { id: 'kind', title: record.kind, cell: ({ kind }) => kind },
    { id: 'model', title: record.model, cell: ({ model }) => model },
    {
      id: 'source',
      title: record.source,
      cell: ({ run_id, source_kind }) =>
        run_id === null || run_id === undefined ? (
          source_kind.replaceAll('_', ' ')
        ) : (
          <Link to="/w/$workspaceId/runs/$runId" params={{ workspaceId, runId: run_id }}>
            {record.run}
          </Link>
        ),
    },
    {
      id: 'tokens',
      title: record.tokens,
      align: 'end',
      cell: (row) =>
        `${formatCount(row.input_tokens + row.cached_read_tokens + row.cached_write_tokens)} / ${formatCount(row.output_tokens + row.reasoning_tokens)}`,
    },
    {
      id: 'cost',
      title: record.cost,
      align: 'end',
      cell: ({ cost, currency, estimated, unpriced }) => (
        <>
          <Money amount={cost} currency={currency} />
          {estimated && <span className="hint"> {u.estimated}</span>}
          {unpriced && <span className="hint"> {u.unpriced}</span>}
        </>
      ),
    },
  ];
}
