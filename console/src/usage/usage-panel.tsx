import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo } from 'react';
import { api } from '../app/api.ts';
import { t } from '../messages/en.ts';
import type { Column } from '../ui/data-grid.tsx';
import { formatCount, Money } from '../ui/money.tsx';
import { Fault } from '../ui/notice.tsx';
import { Section } from '../ui/page.tsx';
import styles from '../ui/page.module.css';
import { Table } from '../ui/table.tsx';
import { groupKey, toSeries, type Grouping, type UsageGroup } from './groups.ts';
import { usageTexts as u } from './messages.ts';

const Plot = lazy(() => import('./plot.tsx').then(({ Plot }) => ({ default: Plot })));

export interface UsageSpan {
  readonly from: string;
  readonly to: string;
  readonly workspace_id?: string;
}

interface UsagePanelProps {
  /** null: by day alone. */
  readonly by: Grouping | null;
  readonly span: UsageSpan;
  readonly nameOf: (by: Grouping, key: string | null) => string;
}

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const rowsMax = 2_000;

/** Days need two pages and groups more: all are read, up to a bound, since a plot of half of them would lie. */
async function readUsage(span: UsageSpan, by: readonly ('day' | Grouping)[], signal: AbortSignal): Promise<UsageGroup[]> {
  const found: UsageGroup[] = [];
  for (let offset = 0; offset < rowsMax; offset += 200) {
    const page = await api.listUsage({ ...span, group_by: by, timezone: zone, limit: 200, offset }, { signal });
    found.push(...page.items);
    if (page.items.length < 200) break;
  }
  return found;
}

/** Cost per day as a plot, with the table that it is drawn from, or that it sums up to, beside it. */
export function UsagePanel({ by, span, nameOf }: UsagePanelProps) {
  const daily = useQuery({
    queryKey: ['usage', span, 'day', by],
    queryFn: ({ signal }) => readUsage(span, by === null ? ['day'] : ['day', by], signal),
  });
  const totals = useQuery({
    queryKey: ['usage', span, by],
    queryFn: ({ signal }) => (by === null ? Promise.resolve([]) : readUsage(span, [by], signal)),
  });
  const title = by === null ? u.byDay : u.by(u.groups[by]);
  const rows = by === null ? daily.data : totals.data;
  const error = daily.error ?? totals.error;
  return (
    <Section title={title}>
      {error !== null && <Fault error={error} onRetry={() => void Promise.all([daily.refetch(), totals.refetch()])} />}
      {error === null && (daily.data === undefined || rows === undefined) && <p role="status">{t.list.loading}</p>}
      {rows !== undefined && rows.length === 0 && daily.data !== undefined && <p className="hint">{u.none}</p>}
      {rows !== undefined && rows.length > 0 && daily.data !== undefined && (
        <div className={styles.beside}>
          {currenciesOf(daily.data).map((currency) => (
            <UsagePlot key={currency} by={by} title={title} currency={currency} groups={daily.data} nameOf={nameOf} />
          ))}
          <Table
            label={title}
            columns={columnsFor(by, nameOf)}
            rows={rows}
            keyOf={(row) => `${row.day} ${by && groupKey(row, by)} ${row.currency}`}
          />
        </div>
      )}
    </Section>
  );
}

interface UsagePlotProps extends Pick<UsagePanelProps, 'by' | 'nameOf'> {
  readonly title: string;
  readonly currency: string;
  readonly groups: readonly UsageGroup[];
}

/** Currencies are never added up: each has its plot. */
function UsagePlot({ by, title, currency, groups, nameOf }: UsagePlotProps) {
  const data = useMemo(
    () =>
      toSeries(
        groups.filter((group) => group.currency === currency),
        (group) => (by === null ? null : groupKey(group, by)),
      ),
    [groups, currency, by],
  );
  const keys = JSON.stringify(data.series.map(({ key }) => (by === null ? u.columns.cost : nameOf(by, key))));
  const names = useMemo(() => JSON.parse(keys) as string[], [keys]); // as written above
  return (
    <figure>
      <Suspense fallback={<p role="status">{t.list.loading}</p>}>
        <Plot label={u.plotOf(title, currency)} data={data} names={names} />
      </Suspense>
      <figcaption className="hint">
        {currency}
        {by !== null && data.series.length === 8 && ` · ${u.plotted}`}
      </figcaption>
    </figure>
  );
}

function currenciesOf(groups: readonly UsageGroup[]): string[] {
  return [...new Set(groups.map(({ currency }) => currency))];
}

function columnsFor(by: Grouping | null, nameOf: UsagePanelProps['nameOf']): Column<UsageGroup>[] {
  return [
    by === null
      ? { id: 'day', title: u.columns.day, cell: ({ day }) => day }
      : { id: 'group', title: u.groups[by], cell: (group) => nameOf(by, groupKey(group, by)) },
    { id: 'cost', title: u.columns.cost, align: 'end', cell: ({ cost, currency }) => <Money amount={cost} currency={currency} /> },
    { id: 'calls', title: u.columns.calls, align: 'end', cell: ({ calls }) => formatCount(calls) },
    {
      id: 'input',
      title: u.columns.input,
      align: 'end',
      cell: (group) => formatCount(group.input_tokens + group.cached_read_tokens + group.cached_write_tokens),
    },
    { id: 'output', title: u.columns.output, align: 'end', cell: (group) => formatCount(group.output_tokens + group.reasoning_tokens) },
  ];
}
