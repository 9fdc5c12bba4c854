import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ApiError, etagOf } from '@longhaul/client';
import { useMay, useMe } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import { ActiveState } from '../triggers/trigger-state.tsx';
import { ActionDialog } from '../ui/action-dialog.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { Json } from '../ui/json.tsx';
import { Fault } from '../ui/notice.tsx';
import { Facts, ListState, Page, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { reviewTexts as r } from './messages.ts';
import { AddRevision, ClonePlaybook, EditPlaybook } from './playbook-forms.tsx';
import { playbookRoute } from './routes.ts';

const p = r.playbook;
type Playbook = Views['ReviewPlaybookView'];
type Revision = Views['ReviewPlaybookRevisionView'];

/** One playbook with its revisions: one of them is what new reviews use. */
export function PlaybookPage() {
  const { playbookId } = playbookRoute.useParams();
  const playbook = useQuery({
    queryKey: ['playbook', playbookId],
    queryFn: ({ signal }) => api.getReviewPlaybook({ playbook_id: playbookId }, { signal }),
  });
  const mayChange = useMayChange(playbook.data);
  if (playbook.error instanceof ApiError && playbook.error.status === 404) return <NotFound />;
  if (playbook.data === undefined)
    return playbook.error === null ? (
      <p role="status">{t.list.loading}</p>
    ) : (
      <Fault error={playbook.error} onRetry={() => void playbook.refetch()} />
    );
  const { name, slug, description, scope, is_default, is_active, revision_number, templates } = playbook.data;
  return (
    <Page title={name} actions={<ActiveState isActive={is_active} />}>
      <PlaybookActions playbook={playbook.data} mayChange={mayChange} />
      <Facts
        facts={[
          [p.slug, slug],
          [p.description, description],
          [p.scope, p.scopes[scope]],
          [p.isDefault, is_default ? '✓' : '–'],
          [p.revision, revision_number],
        ]}
      />
      <Section title={p.templates}>
        <Json label={p.templates} value={templates} />
      </Section>
      <Revisions playbook={playbook.data} mayChange={mayChange} />
    </Page>
  );
}

/** One of a wider scope is changed by people of that scope. */
function useMayChange(playbook: Playbook | undefined): boolean {
  const { scope } = useMe();
  const isAdmin = useMay('admin');
  const isOperator = useMay('operator');
  if (playbook?.scope === 'platform') return isOperator;
  return isAdmin && (playbook?.scope === 'workspace' || scope !== 'workspace');
}

interface PlaybookProps {
  readonly playbook: Playbook;
  readonly mayChange: boolean;
}

function PlaybookActions({ playbook, mayChange }: PlaybookProps) {
  const { workspaceId } = playbookRoute.useParams();
  const navigate = useNavigate();
  const mayClone = useMay('admin');
  return (
    <div className="actions">
      {mayClone && <ClonePlaybook playbook={playbook} />}
      {mayChange && (
        <>
          <EditPlaybook playbookId={playbook.id} />
          <AddRevision playbook={playbook} />
          <ActionDialog
            label={r.delete}
            title={p.deleteTitle}
            submit={p.deleteSubmit}
            tone="danger"
            content={{ playbook_id: playbook.id }}
            write={(content) => api.deleteReviewPlaybook(content)}
            onDone={() => void navigate({ to: '/w/$workspaceId/review-playbooks', params: { workspaceId } })}
          >
            <p>{p.deleteText}</p>
          </ActionDialog>
        </>
      )}
    </div>
  );
}

function Revisions({ playbook, mayChange }: PlaybookProps) {
  const list = usePagedList<Revision>({
    queryKey: ['playbook', playbook.id, 'revisions'],
    fetchPage: (cursor, signal) => api.listReviewPlaybookRevisions({ playbook_id: playbook.id, cursor, limit: 50 }, { signal }),
  });
  return (
    <Section title={p.revisions}>
      {list.rows.length > 0 && (
        <Table label={p.revisions} columns={columnsFor(playbook, mayChange)} rows={list.rows} keyOf={({ id }) => id} />
      )}
      <ListState list={list} />
    </Section>
  );
}

/** Activates, or rolls back, with the version of the playbook that is on screen. */
function Activate({ playbook, revisionId }: { readonly playbook: Playbook; readonly revisionId: string }) {
  const queries = useQueryClient();
  const refresh = () => void queries.invalidateQueries({ queryKey: ['playbook', playbook.id] });
  return (
    <ActionDialog
      label={p.activate}
      title={p.activateTitle}
      submit={p.activateSubmit}
      content={{ playbook_id: playbook.id, active_revision_id: revisionId }}
      write={(content, options) => {
        return api.updateReviewPlaybook(content, { ...options, ifMatch: etagOf(playbook) });
      }}
      onDone={refresh}
    >
      <p>{p.activateText}</p>
    </ActionDialog>
  );
}

function columnsFor(playbook: Playbook, mayChange: boolean): Column<Revision>[] {
  return [
    { id: 'number', title: p.revision, cell: ({ revision_number }) => revision_number },
    { id: 'made', title: p.made, cell: ({ created_at }) => <Time at={created_at} /> },
    { id: 'note', title: p.note, cell: ({ note }) => note },
    {
      id: 'state',
      title: r.state,
      cell: ({ id }) => (id === playbook.active_revision_id ? p.isActive : mayChange && <Activate playbook={playbook} revisionId={id} />),
    },
  ];
}
