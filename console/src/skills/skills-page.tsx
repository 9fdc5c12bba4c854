import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { Choice } from '../ui/choice.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { oneOf } from '../ui/search.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { skillTexts as k } from './messages.ts';
import { skillsRoute } from './routes.ts';

type Skill = Views['SkillView'];
const states = ['pending', 'reviewed', 'promoted', 'superseded', 'retired'] as const;

/** The skills that the workspace sees, those that wait for curation included. */
export function SkillsPage() {
  const { workspaceId } = skillsRoute.useParams();
  const search = skillsRoute.useSearch();
  const state = oneOf(states, search.curation_state);
  const navigate = useNavigate({ from: skillsRoute.fullPath });
  const mayWrite = useMay('member');
  const list = usePagedList<Skill>({
    queryKey: ['skills', search.q, state],
    fetchPage: (cursor, signal) => api.listSkills({ q: search.q, curation_state: state, cursor, limit: 50 }, { signal }),
  });
  return (
    <Page
      title={k.skills}
      actions={
        mayWrite && (
          <div className="actions">
            <CreateSkill workspaceId={workspaceId} />
            <ImportSkill workspaceId={workspaceId} />
          </div>
        )
      }
    >
      <Filters label={k.filters}>
        <TypedFilter
          label={k.search}
          value={search.q ?? ''}
          onSettle={(text) => void navigate({ search: (now) => ({ ...now, q: text || undefined }) })}
        />
        <Choice
          label={k.columns.state}
          value={state ?? ''}
          options={[{ id: '', label: k.any }, ...states.map((id) => ({ id, label: k.states[id] }))]}
          onChange={(id) => void navigate({ search: (now) => ({ ...now, curation_state: id || undefined }) })}
        />
      </Filters>
      {list.rows.length > 0 && <Table label={k.skills} columns={columnsFor(workspaceId)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={search.q !== undefined || state !== undefined} />
    </Page>
  );
}

function columnsFor(workspaceId: string): Column<Skill>[] {
  return [
    {
      id: 'slug',
      title: k.columns.slug,
      cell: ({ id, slug }) => (
        <Link to="/w/$workspaceId/skills/$skillId" params={{ workspaceId, skillId: id }}>
          {slug}
        </Link>
      ),
    },
    { id: 'state', title: k.columns.state, cell: ({ curation_state }) => k.states[curation_state] },
    { id: 'version', title: k.columns.version, align: 'end', cell: ({ version }) => version },
    { id: 'origin', title: k.columns.origin, cell: ({ origin }) => origin },
    { id: 'used', title: k.columns.used, align: 'end', cell: ({ use_count }) => use_count },
    { id: 'updated', title: k.columns.updated, cell: ({ updated_at }) => <Time at={updated_at} /> },
  ];
}

function CreateSkill({ workspaceId }: { readonly workspaceId: string }) {
  const queries = useQueryClient();
  return (
    <FormDialog<Views['SkillCreate']>
      label={k.create}
      title={k.createTitle}
      submit={k.createSubmit}
      isPrimary
      fields={[
        { name: 'slug', label: k.fields.slug },
        { kind: 'area', name: 'description', label: k.fields.description },
        { kind: 'area', name: 'instructions', label: k.fields.instructions, rows: 10 },
      ]}
      toContent={({ slug = '', description = '', instructions = '' }) =>
        [slug, description, instructions].some((text) => text.trim() === '')
          ? null
          : { slug: slug.trim(), description: description.trim(), instructions, workspace_id: workspaceId }
      }
      write={(content, options) => api.createSkill(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['skills'] })}
    />
  );
}

function ImportSkill({ workspaceId }: { readonly workspaceId: string }) {
  const queries = useQueryClient();
  return (
    <FormDialog<Views['SkillImport']>
      label={k.import}
      title={k.importTitle}
      submit={k.importSubmit}
      fields={[
        { kind: 'area', name: 'markdown', label: k.markdown, hint: k.importHint, isMono: true, rows: 12 },
        { kind: 'check', name: 'overwrite', label: k.overwrite },
      ]}
      toContent={({ markdown = '', overwrite }) =>
        markdown.trim() === ''
          ? null
          : { markdown, on_conflict: overwrite === 'true' ? 'new_version' : 'reject', workspace_id: workspaceId }
      }
      write={(content, options) => api.importSkill(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['skills'] })}
    />
  );
}
