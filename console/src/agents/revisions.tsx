import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Choice } from '../ui/choice.tsx';
import type { Column } from '../ui/data-grid.tsx';
import type { Version } from '../ui/edit-state.ts';
import { JsonDiff } from '../ui/json-diff.tsx';
import { Json, LongText } from '../ui/json.tsx';
import { Fault } from '../ui/notice.tsx';
import { ListState, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { agentTexts as a } from './messages.ts';
import { agentRoute } from './routes.ts';

type Agent = Version<Views['AgentView']>;
type Revision = Views['AgentRevisionView'];

/** The revisions of an agent, newest first: what each changed, and which one runs use. */
export function Revisions({ agent }: { readonly agent: Agent }) {
  const mayActivate = useMay('admin');
  const { agentId } = agentRoute.useParams();
  const { revision } = agentRoute.useSearch();
  const list = usePagedList<Revision>({
    queryKey: ['agent', agentId, 'revisions'],
    fetchPage: (cursor, signal) => api.listAgentRevisions({ agent_id: agentId, cursor, limit: 50 }, { signal }),
  });
  return (
    <>
      {list.rows.length > 0 && (
        <Table label={a.parts.revisions} columns={columnsFor(agent, mayActivate)} rows={list.rows} keyOf={({ id }) => id} />
      )}
      <ListState list={list} />
      {revision !== undefined && <OneRevision key={revision} revisionId={revision} others={list.rows} />}
    </>
  );
}

function columnsFor(agent: Agent, mayActivate: boolean): Column<Revision>[] {
  return [
    { id: 'number', title: a.revision.number, cell: ({ number }) => number },
    { id: 'state', title: a.revision.state, cell: ({ is_active }) => (is_active ? a.active : '') },
    { id: 'note', title: a.revision.note, cell: ({ note }) => note },
    { id: 'created', title: a.revision.created, cell: ({ created_at }) => <Time at={created_at} /> },
    { id: 'actions', title: a.revision.actions, cell: (row) => <RevisionActions agent={agent} revision={row} mayActivate={mayActivate} /> },
  ];
}

interface RevisionActionsProps {
  readonly agent: Agent;
  readonly revision: Revision;
  readonly mayActivate: boolean;
}

function RevisionActions({ agent, revision, mayActivate }: RevisionActionsProps) {
  const { workspaceId, agentId } = agentRoute.useParams();
  return (
    <div className="actions">
      <Link to="/w/$workspaceId/agents/$agentId" params={{ workspaceId, agentId }} search={{ part: 'revisions', revision: revision.id }}>
        {`${a.compare} ${revision.number}`}
      </Link>
      {mayActivate && !revision.is_active && <Activate agent={agent} revision={revision} />}
    </div>
  );
}

/** With the ETag that is on screen: if somebody else has activated another one since, this does nothing and says so. */
function Activate({ agent: { value, etag }, revision }: { readonly agent: Agent; readonly revision: Revision }) {
  const queries = useQueryClient();
  const isOlder = (value.active_revision?.number ?? 0) > revision.number;
  return (
    <ActionDialog
      label={isOlder ? a.rollBack : a.activate}
      title={a.activateTitle(revision.number)}
      submit={a.activateSubmit}
      content={etag === undefined ? null : { agent_id: value.id, revision_id: revision.id, etag }}
      write={({ etag: ifMatch, ...content }, options) =>
        api
          .activateAgentRevision(content, { ...options, ifMatch })
          .finally(() => queries.invalidateQueries({ queryKey: ['agent', value.id] }))
      }
    >
      <p>{a.activateText}</p>
    </ActionDialog>
  );
}

function OneRevision({ revisionId, others }: { readonly revisionId: string; readonly others: readonly Revision[] }) {
  const { agentId } = agentRoute.useParams();
  const { against } = agentRoute.useSearch();
  const navigate = useNavigate({ from: agentRoute.fullPath });
  const revision = useQuery({
    queryKey: ['revision', revisionId],
    queryFn: ({ signal }) => api.getAgentRevision({ agent_id: agentId, revision_id: revisionId }, { signal }),
  });
  const number = revision.data?.number;
  const base = against ?? others.find((one) => one.number === (number ?? 0) - 1)?.id;
  const options = others.filter(({ id }) => id !== revisionId).map((one) => ({ id: one.id, label: String(one.number) }));
  if (revision.error !== null) return <Fault error={revision.error} />;
  if (revision.data === undefined) return null;
  return (
    <Section title={`${a.revision.number} ${revision.data.number}`}>
      {options.length > 0 && (
        <Choice
          label={a.against}
          value={base ?? ''}
          options={options}
          onChange={(id) => void navigate({ search: (now) => ({ ...now, against: id }) })}
        />
      )}
      {base !== undefined && <Difference revisionId={revisionId} base={base} />}
      <Json value={revision.data.document} label={`${a.revision.number} ${revision.data.number}`} />
    </Section>
  );
}

const changeColumns: Column<Views['RevisionChange']>[] = [
  { id: 'pointer', title: a.change.pointer, cell: ({ pointer }) => pointer },
  { id: 'op', title: a.change.op, cell: ({ op }) => op },
  { id: 'before', title: a.change.before, cell: ({ before }) => JSON.stringify(before) },
  { id: 'after', title: a.change.after, cell: ({ after }) => JSON.stringify(after) },
];

function Difference({ revisionId, base }: { readonly revisionId: string; readonly base: string }) {
  const { agentId } = agentRoute.useParams();
  const diff = useQuery({
    queryKey: ['revision', revisionId, 'diff', base],
    queryFn: ({ signal }) => api.diffAgentRevisions({ agent_id: agentId, revision_id: revisionId, against: base }, { signal }),
  });
  if (diff.error !== null) return <Fault error={diff.error} />;
  if (diff.data === undefined) return null;
  const { changes, instructions_diff, base: from, target } = diff.data;
  return (
    <Section title={a.diffTitle(target.number, from.number)}>
      {changes.length === 0 ? (
        <JsonDiff label={a.changes} before="" after="" />
      ) : (
        <Table label={a.changes} columns={changeColumns} rows={changes} keyOf={({ pointer, op }) => `${op} ${pointer}`} />
      )}
      {instructions_diff !== null && <LongText text={instructions_diff} label={a.instructions} />}
    </Section>
  );
}
