import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ApiError } from '@longhaul/client';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Check } from '../ui/check.tsx';
import { EditForm } from '../ui/edit-form.tsx';
import { versionOf, type Version } from '../ui/edit-state.ts';
import { Area } from '../ui/fields.tsx';
import { LongText } from '../ui/json.tsx';
import { Fault } from '../ui/notice.tsx';
import { Facts, Page, Section } from '../ui/page.tsx';
import { CurateSkill } from './curate-skill.tsx';
import { skillTexts as k } from './messages.ts';
import { skillRoute } from './routes.ts';
import { SkillVersions } from './skill-versions.tsx';

type Skill = Views['SkillView'];
type Text = Pick<Skill, 'description' | 'instructions' | 'is_active'>;

/** One skill: its text, its curation and its versions. */
export function SkillPage() {
  const { skillId, workspaceId } = skillRoute.useParams();
  const mayWrite = useMay('member');
  const mayCurate = useMay('admin');
  const navigate = useNavigate();
  const skill = useQuery({
    queryKey: ['skill', skillId],
    queryFn: async ({ signal }) => versionOf(await api.getSkill({ skill_id: skillId }, { signal })),
    refetchInterval: 5_000,
  });
  if (skill.error instanceof ApiError && skill.error.status === 404) return <NotFound />;
  if (skill.data === undefined)
    return skill.error === null ? (
      <p role="status">{t.list.loading}</p>
    ) : (
      <Fault error={skill.error} onRetry={() => void skill.refetch()} />
    );
  const { value } = skill.data;
  const actions = mayCurate && (
    <div className="actions">
      <CurateSkill skill={value} />
      <ActionDialog
        label={k.delete}
        title={k.deleteTitle}
        submit={k.deleteSubmit}
        tone="danger"
        content={{ skill_id: skillId }}
        write={(content) => api.deleteSkill(content)}
        onDone={() => void navigate({ to: '/w/$workspaceId/skills', params: { workspaceId } })}
      >
        <p>{k.deleteText}</p>
      </ActionDialog>
    </div>
  );
  return (
    <Page title={value.slug} actions={actions}>
      <Facts
        facts={[
          [k.columns.state, k.states[value.curation_state]],
          [k.columns.version, value.version],
          [k.columns.origin, value.origin],
          [k.columns.used, value.use_count],
        ]}
      />
      <Section title={k.settings}>
        {mayWrite ? <SkillText key={skillId} skill={skill.data} /> : <LongText text={value.instructions} label={k.fields.instructions} />}
      </Section>
      {value.reference_docs.length > 0 && (
        <Section title={k.docs}>
          <ul>
            {value.reference_docs.map(({ name, media_type, size_chars }) => (
              <li key={name}>{`${name} (${media_type}, ${size_chars})`}</li>
            ))}
          </ul>
        </Section>
      )}
      <SkillVersions skillId={skillId} />
    </Page>
  );
}

function textOf({ value, etag }: Version<Skill>): Version<Text> {
  const { description, instructions, is_active } = value;
  return { value: { description, instructions, is_active }, etag };
}

function SkillText({ skill }: { readonly skill: Version<Skill> }) {
  const queries = useQueryClient();
  const { id } = skill.value;
  return (
    <EditForm<Text>
      draft={`skill:${id}`}
      current={textOf(skill)}
      read={async () => textOf(versionOf(await api.getSkill({ skill_id: id })))}
      write={async (changes, options) => {
        await api.updateSkill({ skill_id: id, ...changes }, options);
        await queries.refetchQueries({ queryKey: ['skill', id] });
      }}
      labels={k.fields}
    >
      {({ value, set, error }) => (
        <>
          <Area
            label={k.fields.description}
            value={value.description}
            onChange={(text) => set('description', text)}
            error={error('description')}
          />
          <Area
            label={k.fields.instructions}
            rows={14}
            value={value.instructions}
            onChange={(text) => set('instructions', text)}
            error={error('instructions')}
          />
          <Check label={k.fields.is_active} isChecked={value.is_active} onChange={(next) => set('is_active', next)} />
        </>
      )}
    </EditForm>
  );
}
