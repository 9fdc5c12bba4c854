import { useQueryClient } from '@tanstack/react-query';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { useAgents } from '../app/use-agents.ts';
import { AddEventTrigger, EditEventTrigger } from './event-trigger-forms.tsx';
import { triggerTexts as x } from './messages.ts';
import { eventTriggersRoute } from './routes.ts';
import { ActiveState } from './trigger-state.tsx';

const v = x.event;
type Trigger = Views['EventTriggerView'];

/** What starts when an event happens. */
export function EventTriggersPage() {
  const { workspaceId } = eventTriggersRoute.useParams();
  const { nameOf } = useAgents();
  const mayWrite = useMay('admin');
  const list = usePagedList<Trigger>({
    queryKey: ['event-triggers'],
    fetchPage: (cursor, signal) => api.listEventTriggers({ cursor, limit: 50 }, { signal }),
  });
  return (
    <Page title={x.eventTriggers} actions={mayWrite && <AddEventTrigger workspaceId={workspaceId} />}>
      {list.rows.length > 0 && (
        <Table label={x.eventTriggers} columns={columnsFor(nameOf, mayWrite)} rows={list.rows} keyOf={({ id }) => id} />
      )}
      <ListState list={list} />
    </Page>
  );
}

function Actions({ triggerId }: { readonly triggerId: string }) {
  const queries = useQueryClient();
  return (
    <div className="actions">
      <EditEventTrigger triggerId={triggerId} />
      <ActionDialog
        label={x.delete}
        title={v.deleteTitle}
        submit={v.deleteSubmit}
        tone="danger"
        content={{ trigger_id: triggerId }}
        write={(content) => api.deleteEventTrigger(content)}
        onDone={() => void queries.invalidateQueries({ queryKey: ['event-triggers'] })}
      >
        <p>{v.deleteText}</p>
      </ActionDialog>
    </div>
  );
}

function columnsFor(nameOf: (id: string) => string, mayWrite: boolean): Column<Trigger>[] {
  return [
    { id: 'name', title: x.name, cell: ({ name }) => name },
    { id: 'kind', title: v.kind, cell: ({ event_kind }) => <code>{event_kind}</code> },
    { id: 'agent', title: x.agent, cell: ({ agent_id }) => nameOf(agent_id) },
    { id: 'state', title: x.state, cell: ({ is_active }) => <ActiveState isActive={is_active} /> },
    { id: 'matches', title: v.matches, align: 'end', cell: ({ match_count }) => match_count },
    ...(mayWrite ? [{ id: 'actions', title: x.actions, cell: ({ id }: Trigger) => <Actions triggerId={id} /> }] : []),
  ];
}
