import { useQuery } from '@tanstack/react-query';
import { ApiError } from '@longhaul/client';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import type { Column } from '../ui/data-grid.tsx';
import { LongText } from '../ui/json.tsx';
import { Fault } from '../ui/notice.tsx';
import { Facts, ListState, Page, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { skillTexts as k } from './messages.ts';
import { skillRoute } from './routes.ts';
import { CurateSkill, DeleteSkill, EditSkill } from './skill-forms.tsx';
import { Curation } from './skills-page.tsx';

type Version = Views['SkillVersionView'];

/** One skill with its versions. */
export function SkillPage() {
  const { skillId, workspaceId } = skillRoute.useParams();
  const isMember = useMay('member');
  const isAdmin = useMay('admin');
  const skill = useQuery({ queryKey: ['skills', skillId], queryFn: ({ signal }) => api.getSkill({ skill_id: skillId }, { signal }) });
  const versions = usePagedList<Version>({
    queryKey: ['skills', skillId, 'versions'],
    fetchPage: (cursor, signal) => api.listSkillVersions({ skill_id: skillId, cursor, limit: 20 }, { signal }),
  });
  if (skill.error instanceof ApiError && skill.error.status === 404) return <NotFound />;
  if (skill.data === undefined)
    return skill.error === null ? (
      <p role="status">{t.list.loading}</p>
    ) : (
      <Fault error={skill.error} onRetry={() => void skill.refetch()} />
    );
  const { slug, description, instructions, version, origin, curation_state, reference_docs, use_count, last_used_at, updated_at } =
    skill.data;
  return (
    <Page title={slug} actions={<Curation state={curation_state} />}>
      <Facts
        facts={[
          [k.fields.description, description],
          [k.facts.version, String(version)],
          [k.origin, k.origins[origin] ?? origin],
          [k.facts.documents, reference_docs.map(({ name }) => name).join(', ') || null],
          [k.columns.uses, String(use_count)],
          [k.facts.used, last_used_at === null ? k.facts.never : <Time key="used" at={last_used_at} />],
          [k.facts.changed, <Time key="changed" at={updated_at} />],
        ]}
      />
      {isMember && (
        <div className="actions">
          <EditSkill skillId={skillId} />
          {isAdmin && <CurateSkill key={`${version} ${curation_state}`} skill={skill.data} />}
          {isAdmin && <DeleteSkill skillId={skillId} workspaceId={workspaceId} />}
        </div>
      )}
      <Section title={k.instructions}>
        <LongText text={instructions} label={k.instructions} />
      </Section>
      <Section title={k.versions.title}>
        {versions.rows.length > 0 && (
          <Table label={k.versions.title} columns={columns} rows={versions.rows} keyOf={(row) => String(row.version)} />
        )}
        <ListState list={versions} />
      </Section>
    </Page>
  );
}

const columns: Column<Version>[] = [
  { id: 'version', title: k.versions.columns.version, cell: ({ version }) => version },
  { id: 'description', title: k.versions.columns.description, cell: ({ description }) => description },
  { id: 'by', title: k.versions.columns.by, cell: ({ created_by }) => created_by.kind.replaceAll('_', ' ') },
  { id: 'at', title: k.versions.columns.at, cell: ({ created_at }) => <Time at={created_at} /> },
];
