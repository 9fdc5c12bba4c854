import { useQuery } from '@tanstack/react-query';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import type { Column } from '../ui/data-grid.tsx';
import { Fault, Notice } from '../ui/notice.tsx';
import { Facts, Page, Section } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { formatDuration, Time } from '../ui/time.tsx';
import { operatorTexts as o } from './messages.ts';

type Status = Views['SystemStatusView'];

/** How the deployment is: its parts, queues and workers, every five seconds. */
export function SystemPage() {
  const status = useQuery({ queryKey: ['system'], queryFn: ({ signal }) => api.getSystemStatus({}, { signal }), refetchInterval: 5_000 });
  const capabilities = useQuery({
    queryKey: ['capabilities'],
    queryFn: ({ signal }) => api.getCapabilities({}, { signal }),
    staleTime: 60_000,
  });
  const { data } = status;
  return (
    <Page title={o.system}>
      {status.error !== null && <Fault error={status.error} onRetry={() => void status.refetch()} />}
      {status.error === null && data === undefined && <p role="status">{t.list.loading}</p>}
      {data !== undefined && data.problems.length > 0 && (
        <Notice tone="warn" text={o.problems} detail={data.problems.map(({ part, message }) => `${part}: ${message}`)} />
      )}
      {data !== undefined && <Parts status={data} />}
      {capabilities.data !== undefined && (
        <Section title={o.features}>
          <Facts
            facts={Object.entries(capabilities.data.features).map(
              ([name, isOn]) => [name.replaceAll('_', ' '), isOn ? o.yes : o.no] as const,
            )}
          />
        </Section>
      )}
    </Page>
  );
}

const queueColumns: readonly Column<Status['queues'][number]>[] = [
  { id: 'name', title: o.queue.name, cell: ({ name }) => name },
  { id: 'backlog', title: o.queue.backlog, align: 'end', cell: ({ backlog }) => backlog ?? '–' },
  {
    id: 'age',
    title: o.queue.age,
    align: 'end',
    cell: ({ oldest_age_s }) => (oldest_age_s === null ? '–' : formatDuration(oldest_age_s * 1_000)),
  },
  { id: 'pollers', title: o.queue.pollers, align: 'end', cell: ({ pollers }) => pollers ?? '–' },
];
const workerColumns: readonly Column<Status['workers'][number]>[] = [
  { id: 'identity', title: o.worker.identity, cell: ({ identity }) => identity },
  { id: 'queues', title: o.worker.queues, cell: ({ queues }) => queues.join(', ') },
  { id: 'build', title: o.worker.build, cell: ({ build_id }) => build_id },
  { id: 'seen', title: o.worker.seen, cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
];

function Parts({ status }: { readonly status: Status }) {
  const { version, postgres, redis, temporal, outbox, runs, schedules, last_backup } = status;
  const latency = (part: { readonly latency_ms: number } | null) => (part === null ? o.unreachable : o.answers(part.latency_ms));
  return (
    <>
      <Section title={o.parts}>
        <Facts
          facts={[
            [o.version, version.build.version],
            [o.build, version.build.commit],
            [o.contract, version.contract_version],
            [o.draining, status.draining ? o.yes : o.no],
            [o.postgres, latency(postgres)],
            [o.redis, latency(redis)],
            [o.temporal, latency(temporal)],
            [o.outbox, outbox && o.outboxText(outbox.due, outbox.failing)],
            [o.runs, runs && o.runsText(runs.queued, runs.running, runs.waiting)],
            [o.schedules, schedules && o.schedulesText(schedules.total, schedules.missed)],
            [o.backup, last_backup === null ? o.noBackup : <Time key="backup" at={last_backup.at} />],
          ]}
        />
      </Section>
      <Section title={o.queues}>
        <Table label={o.queues} rows={status.queues} keyOf={({ name }) => name} columns={queueColumns} />
      </Section>
      <Section title={o.workers}>
        <Table label={o.workers} rows={status.workers} keyOf={({ identity }) => identity} columns={workerColumns} />
      </Section>
    </>
  );
}
