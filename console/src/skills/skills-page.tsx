import { Link, useNavigate } from '@tanstack/react-router';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { Choice } from '../ui/choice.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { oneOf } from '../ui/search.ts';
import { StateWord } from '../ui/state-word.tsx';
import { Table } from '../ui/table.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { skillTexts as k } from './messages.ts';
import { skillsRoute } from './routes.ts';
import { CreateSkill, ImportSkill } from './skill-forms.tsx';

type Skill = Views['SkillView'];
type Filter = ReturnType<typeof skillsRoute.useSearch>;

export const curationStates = ['pending', 'reviewed', 'promoted', 'superseded', 'retired'] as const;
const origins = ['human', 'agent', 'import', 'derived'] as const;

/** What agents may load, and what waits for a review. */
export function SkillsPage() {
  const { workspaceId } = skillsRoute.useParams();
  const search = skillsRoute.useSearch();
  const navigate = useNavigate();
  const isMember = useMay('member');
  const state = oneOf(curationStates, search.state);
  const origin = oneOf(origins, search.origin);
  const list = usePagedList<Skill>({
    queryKey: ['skills', 'list', search],
    fetchPage: (cursor, signal) =>
      api.listSkills(
        {
          cursor,
          limit: 50,
          ...(search.q !== undefined && { q: search.q }),
          ...(state && { curation_state: state }),
          ...(origin && { origin }),
        },
        { signal },
      ),
  });
  const set = (name: keyof Filter, value: string) =>
    void navigate({
      to: '/w/$workspaceId/skills',
      params: { workspaceId },
      search: { ...search, [name]: value || undefined },
      replace: true,
    });
  return (
    <Page
      title={k.skills}
      actions={
        isMember && (
          <>
            <CreateSkill workspaceId={workspaceId} />
            <ImportSkill workspaceId={workspaceId} />
          </>
        )
      }
    >
      <Filters label={k.filters}>
        <TypedFilter label={k.search} value={search.q ?? ''} onSettle={(value) => set('q', value)} />
        <Choice
          label={k.state}
          value={search.state ?? ''}
          options={[{ id: '', label: k.any }, ...curationStates.map((id) => ({ id, label: k.states[id] ?? id }))]}
          onChange={(value) => set('state', value)}
        />
        <Choice
          label={k.origin}
          value={search.origin ?? ''}
          options={[{ id: '', label: k.any }, ...origins.map((id) => ({ id, label: k.origins[id] ?? id }))]}
          onChange={(value) => set('origin', value)}
        />
      </Filters>
      {list.rows.length > 0 && <Table label={k.skills} columns={columnsFor(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={Object.keys(search).length > 0} />
    </Page>
  );
}

function columnsFor(workspaceId: string): Column<Skill>[] {
  const { columns } = k;
  return [
    {
      id: 'slug',
      title: columns.slug,
      cell: ({ id, slug }) => (
        <Link to="/w/$workspaceId/skills/$skillId" params={{ workspaceId, skillId: id }}>
          {slug}
        </Link>
      ),
    },
    { id: 'description', title: columns.description, cell: ({ description }) => description },
    { id: 'state', title: columns.state, cell: ({ curation_state }) => <Curation state={curation_state} /> },
    { id: 'origin', title: columns.origin, cell: ({ origin }) => k.origins[origin] ?? origin },
    { id: 'uses', title: columns.uses, align: 'end', cell: ({ use_count }) => use_count },
  ];
}

export function Curation({ state }: { readonly state: string }) {
  const tone = state === 'pending' ? 'warn' : state === 'reviewed' || state === 'promoted' ? 'good' : 'idle';
  return <StateWord tone={tone} text={k.states[state] ?? state} />;
}
