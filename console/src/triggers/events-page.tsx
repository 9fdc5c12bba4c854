import { useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Button, Dialog, DialogTrigger, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import type { Column } from '../ui/data-grid.tsx';
import { Json } from '../ui/json.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { triggerTexts as x } from './messages.ts';
import { eventsRoute } from './routes.ts';
import { RunLink } from './run-link.tsx';
import { TriggerState } from './trigger-state.tsx';

const v = x.event;
type Event = Views['EventView'];

const columns: readonly Column<Event>[] = [
  { id: 'at', title: v.at, cell: ({ occurred_at }) => <Time at={occurred_at} /> },
  { id: 'kind', title: v.kind, cell: ({ event_kind }) => <code>{event_kind}</code> },
  { id: 'source', title: v.source, cell: ({ source }) => source },
  { id: 'subject', title: v.subject, cell: ({ subject }) => subject },
  { id: 'started', title: v.started, cell: ({ matches }) => (matches.length === 0 ? x.none : <Matches matches={matches} />) },
  { id: 'actions', title: x.actions, cell: (event) => <Payload event={event} /> },
];

/** What has happened, newest first, and what each event has started. */
export function EventsPage() {
  const { workspaceId } = eventsRoute.useParams();
  const { event_kind } = eventsRoute.useSearch();
  const navigate = useNavigate();
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) =>
      api.listEvents({ ...(event_kind !== undefined && { event_kind }), cursor, limit: 50 }, { signal }),
    [event_kind],
  );
  const list = usePagedList<Event>({ queryKey: ['events', event_kind], fetchPage });
  return (
    <Page title={x.events}>
      <Filters label={x.filters}>
        <TypedFilter
          label={v.kind}
          value={event_kind ?? ''}
          onSettle={(value) =>
            void navigate({
              to: '/w/$workspaceId/events',
              params: { workspaceId },
              search: value === '' ? {} : { event_kind: value },
              replace: true,
            })
          }
        />
      </Filters>
      {list.rows.length > 0 && <Table label={x.events} columns={columns} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={event_kind !== undefined} />
    </Page>
  );
}

function Matches({ matches }: Pick<Event, 'matches'>) {
  return matches.map(({ trigger_id, outcome, run_id, error_code }) => (
    <div key={trigger_id} className="actions">
      <TriggerState state={outcome} />
      {run_id !== null && <RunLink runId={run_id} />}
      {error_code}
    </div>
  ));
}

function Payload({ event }: { readonly event: Event }) {
  return (
    <DialogTrigger>
      <Button>{v.show}</Button>
      <ModalOverlay isDismissable>
        <Modal>
          <Dialog>
            <Heading slot="title" level={2}>
              {event.event_kind}
            </Heading>
            <Json label={v.payload} value={event.payload} />
            <div className="actions">
              <Button slot="close">{t.actions.close}</Button>
            </div>
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}
