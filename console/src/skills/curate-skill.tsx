import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, type Views } from '../app/api.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { oneOf } from '../ui/search.ts';
import { skillTexts as k } from './messages.ts';

type Skill = Views['SkillView'];
type State = Skill['curation_state'];

/** What may follow on each state. */
const followers: Readonly<Record<State, readonly State[]>> = {
  pending: ['reviewed', 'retired'],
  reviewed: ['promoted', 'retired'],
  promoted: ['superseded', 'retired'],
  superseded: ['retired'],
  retired: ['pending'],
};

/** Decides on the version that is on screen: if there is a newer one, the server refuses. */
export function CurateSkill({ skill }: { readonly skill: Skill }) {
  const queries = useQueryClient();
  const next = followers[skill.curation_state];
  const others = useQuery({
    queryKey: ['skills', 'others'],
    queryFn: ({ signal }) => api.listSkills({ limit: 200 }, { signal }),
    enabled: next.includes('superseded'),
  });
  const options = (others.data?.items ?? []).filter(({ id }) => id !== skill.id).map(({ id, slug }) => ({ id, label: slug }));
  const successor = { kind: 'choice' as const, name: 'superseded_by', label: k.supersededBy, options };
  return (
    <FormDialog
      label={k.curate}
      title={k.curateTitle(skill.version)}
      submit={k.curateTitle(skill.version)}
      fields={[
        { kind: 'choice', name: 'to', label: k.to, options: next.map((id) => ({ id, label: k.states[id] })) },
        ...(next.includes('superseded') ? [successor] : []),
        { kind: 'area', name: 'note', label: k.note },
      ]}
      initial={{ to: next[0] ?? '' }}
      toContent={({ to: chosen, superseded_by = '', note = '' }) => {
        const to = oneOf(next, chosen);
        if (to === undefined || (to === 'superseded' && superseded_by === '')) return null;
        const by = to === 'superseded' ? { superseded_by } : {};
        return { skill_id: skill.id, to, version: skill.version, ...by, note: note.trim() || null };
      }}
      write={(content) => api.curateSkill(content)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['skill', skill.id] })}
    />
  );
}
