import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { agentsQuery } from '../app/queries.ts';
import { t } from '../messages/en.ts';
import { Choice } from '../ui/choice.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { oneOf } from '../ui/search.ts';
import { Status } from '../ui/status.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { CreateEvaluation } from './create-evaluation.tsx';
import { evaluationTexts as e } from './messages.ts';
import { withInterval } from './numbers.ts';
import { evaluationsRoute } from './routes.ts';

type Evaluation = Views['EvaluationRunView'];

const statuses = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;

/** All evaluations of agents, the newest first. */
export function EvaluationsPage() {
  const { workspaceId } = evaluationsRoute.useParams();
  const status = oneOf(statuses, evaluationsRoute.useSearch().status);
  const navigate = useNavigate();
  const mayCreate = useMay('member');
  const agents = useQuery(agentsQuery);
  const list = usePagedList<Evaluation>({
    queryKey: ['evaluations', 'list', status],
    fetchPage: (cursor, signal) => api.listEvaluations({ cursor, limit: 50, ...(status !== undefined && { status }) }, { signal }),
  });
  const nameOf = (id: string) => agents.data?.items.find((agent) => agent.id === id)?.name ?? id;
  return (
    <Page
      title={e.evaluations}
      actions={mayCreate && <CreateEvaluation workspaceId={workspaceId} agents={agents.data?.items ?? []} earlier={list.rows} />}
    >
      <Filters label={e.filters}>
        <Choice
          label={e.status}
          value={status ?? ''}
          options={[{ id: '', label: e.anyStatus }, ...statuses.map((id) => ({ id, label: t.status[id] ?? id }))]}
          onChange={(next) =>
            void navigate({
              to: '/w/$workspaceId/evaluations',
              params: { workspaceId },
              search: { status: next || undefined },
              replace: true,
            })
          }
        />
      </Filters>
      {list.rows.length > 0 && (
        <Table label={e.evaluations} columns={columnsFor(workspaceId, nameOf)} rows={list.rows} keyOf={({ id }) => id} />
      )}
      <ListState list={list} isFiltered={status !== undefined} />
    </Page>
  );
}

function columnsFor(workspaceId: string, nameOf: (agentId: string) => string): Column<Evaluation>[] {
  const { columns } = e;
  return [
    {
      id: 'name',
      title: columns.name,
      cell: ({ id, dataset_name }) => (
        <Link to="/w/$workspaceId/evaluations/$evaluationId" params={{ workspaceId, evaluationId: id }}>
          {dataset_name ?? e.unnamed}
        </Link>
      ),
    },
    { id: 'agent', title: columns.agent, cell: ({ agent_id }) => nameOf(agent_id) },
    { id: 'status', title: columns.status, cell: ({ status }) => <Status status={status} /> },
    { id: 'done', title: columns.done, align: 'end', cell: ({ summary }) => e.of(summary.completed, summary.items) },
    { id: 'passed', title: columns.passed, align: 'end', cell: ({ summary }) => withInterval(summary.pass_rate, summary.pass_ci) },
    { id: 'created', title: columns.created, cell: ({ created_at }) => <Time at={created_at} /> },
  ];
}
