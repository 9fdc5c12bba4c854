import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { ApiError } from '@longhaul/client';
import { api, type Views } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import type { Column } from '../ui/data-grid.tsx';
import { Fault } from '../ui/notice.tsx';
import { Facts, ListState, Page, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { useAgents } from '../app/use-agents.ts';
import { triggerTexts as x } from './messages.ts';
import { scheduleRoute } from './routes.ts';
import { RunLink } from './run-link.tsx';
import { ScheduleActions } from './schedule-actions.tsx';
import { ActiveState, TriggerState } from './trigger-state.tsx';

const s = x.schedule;
type Occurrence = Views['ScheduleOccurrenceView'];

/** One schedule: when it runs, what came of each time, and what can be done about it. */
export function SchedulePage() {
  const { scheduleId } = scheduleRoute.useParams();
  const { nameOf } = useAgents();
  const schedule = useQuery({
    queryKey: ['schedule', scheduleId],
    queryFn: ({ signal }) => api.getSchedule({ schedule_id: scheduleId }, { signal }),
    refetchInterval: 5_000,
  });
  if (schedule.error instanceof ApiError && schedule.error.status === 404) return <NotFound />;
  if (schedule.data === undefined)
    return schedule.error === null ? (
      <p role="status">{t.list.loading}</p>
    ) : (
      <Fault error={schedule.error} onRetry={() => void schedule.refetch()} />
    );
  const { name, is_active, description, timezone, agent_id, next_run_at, overlap, sync_state, pause_reason, prompt_template } =
    schedule.data;
  return (
    <Page title={name} actions={<ActiveState isActive={is_active} />}>
      <ScheduleActions schedule={schedule.data} />
      <Facts
        facts={[
          [x.when, description],
          [s.timezone, timezone],
          [x.agent, nameOf(agent_id)],
          [x.next, next_run_at && <Time key="next" at={next_run_at} />],
          [s.overlap, s.overlaps[overlap]],
          [s.synced, sync_state],
          [s.pausedBecause, pause_reason],
          [x.templates.prompt, prompt_template],
        ]}
      />
      <Occurrences scheduleId={scheduleId} />
    </Page>
  );
}

const columns: readonly Column<Occurrence>[] = [
  { id: 'due', title: s.due, cell: ({ nominal_at }) => <Time at={nominal_at} /> },
  { id: 'local', title: s.there, cell: ({ local_time }) => local_time },
  { id: 'kind', title: s.kind, cell: ({ kind }) => kind },
  { id: 'status', title: x.status, cell: ({ status }) => <TriggerState state={status} /> },
  { id: 'reason', title: s.reason, cell: ({ reason }) => reason?.replaceAll('_', ' ') },
  { id: 'run', title: x.run, cell: ({ run_id }) => <RunLink runId={run_id} /> },
];

function Occurrences({ scheduleId }: { readonly scheduleId: string }) {
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) =>
      api.listScheduleOccurrences({ schedule_id: scheduleId, upcoming: 3, cursor, limit: 50 }, { signal }),
    [scheduleId],
  );
  const list = usePagedList<Occurrence>({ queryKey: ['occurrences', scheduleId], fetchPage });
  return (
    <Section title={s.occurrences}>
      {list.rows.length > 0 && (
        <Table label={s.occurrences} columns={columns} rows={list.rows} keyOf={({ id, nominal_at }) => id ?? nominal_at} />
      )}
      <ListState list={list} />
    </Section>
  );
}
