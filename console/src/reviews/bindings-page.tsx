import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { useAgents } from '../app/use-agents.ts';
import { ActiveState } from '../triggers/trigger-state.tsx';
import { ActionDialog } from '../ui/action-dialog.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { AddBinding, EditBinding } from './binding-forms.tsx';
import { reviewTexts as r } from './messages.ts';
import { bindingsRoute } from './routes.ts';

const b = r.binding;
type Binding = Views['RepoBindingView'];

/** The repositories whose pull requests are reviewed. Each review is a run, whose result holds the findings. */
export function BindingsPage() {
  const { workspaceId } = bindingsRoute.useParams();
  const { nameOf } = useAgents();
  const mayWrite = useMay('admin');
  const list = usePagedList<Binding>({
    queryKey: ['repo-bindings'],
    fetchPage: (cursor, signal) => api.listRepoBindings({ cursor, limit: 50 }, { signal }),
  });
  return (
    <Page title={r.bindings} actions={mayWrite && <AddBinding workspaceId={workspaceId} />}>
      {list.rows.length > 0 && (
        <Table label={r.bindings} columns={columnsFor(workspaceId, nameOf, mayWrite)} rows={list.rows} keyOf={({ id }) => id} />
      )}
      <ListState list={list} />
    </Page>
  );
}

function Actions({ bindingId }: { readonly bindingId: string }) {
  const queries = useQueryClient();
  return (
    <div className="actions">
      <EditBinding bindingId={bindingId} />
      <ActionDialog
        label={r.delete}
        title={b.deleteTitle}
        submit={b.deleteSubmit}
        tone="danger"
        content={{ binding_id: bindingId }}
        write={(content) => api.deleteRepoBinding(content)}
        onDone={() => void queries.invalidateQueries({ queryKey: ['repo-bindings'] })}
      >
        <p>{b.deleteText}</p>
      </ActionDialog>
    </div>
  );
}

function columnsFor(workspaceId: string, nameOf: (id: string) => string, mayWrite: boolean): Column<Binding>[] {
  const agentName = (id: string | null) => (id === null ? b.nobody : nameOf(id));
  return [
    { id: 'name', title: r.name, cell: ({ repo_full_name }) => repo_full_name },
    { id: 'reviewer', title: b.reviewer, cell: ({ reviewer_agent_id }) => agentName(reviewer_agent_id) },
    { id: 'editor', title: b.editor, cell: ({ editor_agent_id }) => agentName(editor_agent_id) },
    { id: 'state', title: r.state, cell: ({ is_active }) => <ActiveState isActive={is_active} /> },
    {
      id: 'reviews',
      title: b.reviews,
      cell: ({ id }) => (
        <Link to="/w/$workspaceId/runs" params={{ workspaceId }} search={{ binding_id: id }}>
          {b.reviews}
        </Link>
      ),
    },
    ...(mayWrite ? [{ id: 'actions', title: r.actions, cell: ({ id }: Binding) => <Actions bindingId={id} /> }] : []),
  ];
}
