import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { etagOf } from '@longhaul/client';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { skillTexts as k } from './messages.ts';

const described: readonly FormField[] = [
  { kind: 'area', name: 'description', label: k.fields.description, hint: k.fields.descriptionHint },
  { kind: 'area', name: 'instructions', label: k.fields.instructions, rows: 12 },
  { kind: 'check', name: 'is_active', label: k.fields.active },
];

function toContent({ description = '', instructions = '', is_active }: Values) {
  if (description.trim() === '' || instructions.trim() === '') return null;
  return { description: description.trim(), instructions, is_active: is_active === 'true' };
}

function useOpenSkill(workspaceId: string) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return async (skillId: string) => {
    await queries.invalidateQueries({ queryKey: ['skills'] });
    await navigate({ to: '/w/$workspaceId/skills/$skillId', params: { workspaceId, skillId } });
  };
}

export function CreateSkill({ workspaceId }: { readonly workspaceId: string }) {
  const open = useOpenSkill(workspaceId);
  return (
    <FormDialog
      label={k.create}
      title={k.createTitle}
      submit={k.createSubmit}
      isPrimary
      fields={[{ name: 'slug', label: k.fields.slug, hint: k.fields.slugHint }, ...described]}
      initial={{ is_active: 'true' }}
      toContent={(values) => {
        const content = toContent(values);
        const slug = values['slug']?.trim();
        return content && slug ? { slug, workspace_id: workspaceId, ...content } : null;
      }}
      write={async (content, options) => open((await api.createSkill(content, options)).id)}
    />
  );
}

export function ImportSkill({ workspaceId }: { readonly workspaceId: string }) {
  const open = useOpenSkill(workspaceId);
  return (
    <FormDialog
      label={k.import}
      title={k.importTitle}
      submit={k.importSubmit}
      fields={[
        { kind: 'area', name: 'markdown', label: k.importMarkdown, hint: k.importHint, isMono: true, rows: 12 },
        { kind: 'check', name: 'version', label: k.importVersion },
      ]}
      toContent={({ markdown = '', version }) =>
        markdown.trim() === ''
          ? null
          : { markdown, workspace_id: workspaceId, on_conflict: version === 'true' ? ('new_version' as const) : ('reject' as const) }
      }
      write={async (content, options) => open((await api.importSkill(content, options)).id)}
    />
  );
}

export function EditSkill({ skillId }: { readonly skillId: string }) {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={k.edit}
      title={k.editTitle}
      submit={k.save}
      fields={described}
      read={async () => {
        const skill = await api.getSkill({ skill_id: skillId });
        const etag = etagOf(skill);
        const { description, instructions, is_active } = skill;
        return { values: { description, instructions, is_active: is_active ? 'true' : '' }, ...(etag && { etag }) };
      }}
      toContent={toContent}
      write={(content, options) => api.updateSkill({ skill_id: skillId, ...content }, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['skills'] })}
    />
  );
}

type CurationState = Views['SkillCurate']['to'];
// `superseded` needs a successor, which a promotion names.
const reachable: readonly CurationState[] = ['pending', 'reviewed', 'promoted', 'retired'];

export function CurateSkill({ skill }: { readonly skill: Pick<Views['SkillView'], 'id' | 'version' | 'curation_state'> }) {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={k.curate}
      title={k.curateTitle(skill.version)}
      submit={k.curateSubmit}
      intro={<p className="hint">{k.curateText}</p>}
      fields={[
        { kind: 'choice', name: 'to', label: k.curateTo, options: reachable.map((id) => ({ id, label: k.states[id] ?? id })) },
        { name: 'note', label: k.curateNote },
      ]}
      initial={{ to: skill.curation_state === 'pending' ? 'reviewed' : skill.curation_state }}
      toContent={({ to, note = '' }) => {
        const state = reachable.find((one) => one === to);
        return state === undefined
          ? null
          : { skill_id: skill.id, version: skill.version, to: state, ...(note.trim() !== '' && { note: note.trim() }) };
      }}
      write={(content) => api.curateSkill(content)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['skills'] })}
    />
  );
}

export function DeleteSkill({ skillId, workspaceId }: { readonly skillId: string; readonly workspaceId: string }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return (
    <ActionDialog
      label={k.delete}
      title={k.deleteTitle}
      submit={k.deleteSubmit}
      tone="danger"
      content={{ skill_id: skillId }}
      write={async (content) => {
        await api.deleteSkill(content);
        await navigate({ to: '/w/$workspaceId/skills', params: { workspaceId } });
        await queries.invalidateQueries({ queryKey: ['skills'] });
      }}
    >
      <p>{k.deleteText}</p>
    </ActionDialog>
  );
}
