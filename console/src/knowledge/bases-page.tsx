import { Link, useNavigate } from '@tanstack/react-router';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import type { Column } from '../ui/data-grid.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { oneOf } from '../ui/search.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { knowledgeTexts as k } from './messages.ts';
import { basesRoute } from './routes.ts';

type Base = Views['KnowledgeBaseView'];

const kinds = ['documents', 'memory', 'faq', 'playbook', 'code'] as const;

/** All knowledge bases that the caller may see. */
export function BasesPage() {
  const { workspaceId } = basesRoute.useParams();
  const search = basesRoute.useSearch();
  const navigate = useNavigate();
  const mayWrite = useMay('member');
  const list = usePagedList<Base>({
    queryKey: ['knowledge', 'bases', search],
    fetchPage: (cursor, signal) =>
      api.listKnowledgeBases({ cursor, limit: 50, ...(search.q !== undefined && { q: search.q }) }, { signal }),
  });
  return (
    <Page title={k.bases} actions={mayWrite && <CreateBase workspaceId={workspaceId} />}>
      <Filters label={k.filters}>
        <TypedFilter
          label={k.search}
          value={search.q ?? ''}
          onSettle={(q) =>
            void navigate({ to: '/w/$workspaceId/knowledge', params: { workspaceId }, search: { q: q || undefined }, replace: true })
          }
        />
      </Filters>
      {list.rows.length > 0 && <Table label={k.bases} columns={columnsFor(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={search.q !== undefined} />
    </Page>
  );
}

function columnsFor(workspaceId: string): Column<Base>[] {
  const { columns } = k;
  return [
    {
      id: 'name',
      title: columns.name,
      cell: ({ id, name }) => (
        <Link to="/w/$workspaceId/knowledge/$kbId" params={{ workspaceId, kbId: id }}>
          {name}
        </Link>
      ),
    },
    { id: 'slug', title: columns.slug, cell: ({ slug }) => <code>{slug}</code> },
    { id: 'kind', title: columns.kind, cell: ({ kind }) => k.kinds[kind] ?? kind },
    { id: 'items', title: columns.items, align: 'end', cell: ({ item_count }) => item_count },
    { id: 'pending', title: columns.pending, align: 'end', cell: ({ curation_counts }) => curation_counts?.pending },
    { id: 'changed', title: columns.changed, cell: ({ updated_at }) => <Time at={updated_at} /> },
  ];
}

function CreateBase({ workspaceId }: { readonly workspaceId: string }) {
  const navigate = useNavigate();
  return (
    <FormDialog
      label={k.create}
      title={k.createTitle}
      submit={k.createSubmit}
      isPrimary
      initial={{ kind: 'documents' }}
      fields={[
        { name: 'name', label: k.fields.name },
        { name: 'slug', label: k.fields.slug, hint: k.fields.slugHint },
        { kind: 'choice', name: 'kind', label: k.fields.kind, options: kinds.map((id) => ({ id, label: k.kinds[id] ?? id })) },
      ]}
      toContent={({ name, slug, kind }) =>
        name?.trim() && slug?.trim()
          ? { name: name.trim(), slug: slug.trim(), kind: oneOf(kinds, kind) ?? 'documents', workspace_id: workspaceId }
          : null
      }
      write={async (content, options) => {
        const { id } = await api.createKnowledgeBase(content, options);
        await navigate({ to: '/w/$workspaceId/knowledge/$kbId', params: { workspaceId, kbId: id } });
      }}
    />
  );
}
