import { useQueryClient } from '@tanstack/react-query';
import { etagOf } from '@longhaul/client';
import { useMe } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { isTrue, jsonText, objectOf, textOf } from '../ui/form-values.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { reviewTexts as r } from './messages.ts';

const p = r.playbook;
type Playbook = Views['ReviewPlaybookView'];
type Templates = Views['ReviewTemplatesInput'];

/** Where a playbook may be put by whoever is signed in. */
function useScopeField(): FormField {
  const { scope, role } = useMe();
  const scopes: (keyof typeof p.scopes)[] = ['workspace'];
  if (scope !== 'workspace') scopes.push('organization');
  if (role === 'operator') scopes.push('platform');
  return { kind: 'choice', name: 'scope', label: p.scope, options: scopes.map((id) => ({ id, label: p.scopes[id] })) };
}
const scopeOf = (value: string | undefined): Playbook['scope'] => (value === 'organization' || value === 'platform' ? value : 'workspace');

export function AddPlaybook({ workspaceId }: { readonly workspaceId: string }) {
  const queries = useQueryClient();
  const scopeField = useScopeField();
  return (
    <FormDialog<Views['ReviewPlaybookCreate']>
      label={p.add}
      title={p.addTitle}
      submit={t.actions.save}
      isPrimary
      fields={[
        { name: 'slug', label: p.slug },
        { name: 'name', label: r.name },
        { name: 'description', label: p.description },
        scopeField,
        { kind: 'check', name: 'is_default', label: p.isDefault },
        { kind: 'area', name: 'templates', label: p.templatesField, isMono: true, rows: 8 },
      ]}
      initial={{ scope: 'workspace' }}
      toContent={(values) => {
        const slug = textOf(values['slug']);
        const name = textOf(values['name']);
        const templates = objectOf(values['templates']);
        if (slug === null || name === null || templates === undefined) return null;
        const scope = scopeOf(values['scope']);
        return {
          slug,
          name,
          description: textOf(values['description']),
          scope,
          ...(scope === 'workspace' && { workspace_id: workspaceId }),
          is_default: isTrue(values['is_default']),
          ...(templates !== null && { templates: templates as Templates }), // the server checks it and points at the field
        };
      }}
      write={(content, options) => api.createReviewPlaybook(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['playbooks'] })}
    />
  );
}

export function EditPlaybook({ playbookId }: { readonly playbookId: string }) {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={r.edit}
      title={p.editTitle}
      submit={t.actions.save}
      fields={[
        { name: 'name', label: r.name },
        { name: 'description', label: p.description },
        { kind: 'check', name: 'is_default', label: p.isDefault },
        { kind: 'check', name: 'is_active', label: r.active },
      ]}
      read={async () => {
        const now = await api.getReviewPlaybook({ playbook_id: playbookId });
        const flag = (is: boolean) => (is ? 'true' : '');
        const values = {
          name: now.name,
          description: now.description ?? '',
          is_default: flag(now.is_default),
          is_active: flag(now.is_active),
        };
        return { values, etag: etagOf(now) };
      }}
      toContent={(values: Values) => {
        const name = textOf(values['name']);
        if (name === null) return null;
        const { is_default, is_active } = values;
        return { name, description: textOf(values['description']), is_default: isTrue(is_default), is_active: isTrue(is_active) };
      }}
      write={(content, options) => api.updateReviewPlaybook({ playbook_id: playbookId, ...content }, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['playbook', playbookId] })}
    />
  );
}

export function ClonePlaybook({ playbook }: { readonly playbook: Playbook }) {
  const queries = useQueryClient();
  const scopeField = useScopeField();
  return (
    <FormDialog
      label={p.clone}
      title={p.cloneTitle}
      submit={t.actions.save}
      fields={[{ name: 'slug', label: p.slug }, { name: 'name', label: r.name }, scopeField]}
      initial={{ slug: `${playbook.slug}-copy`, name: playbook.name, scope: 'workspace' }}
      toContent={(values) => {
        const slug = textOf(values['slug']);
        return slug === null ? null : { slug, name: textOf(values['name']), scope: scopeOf(values['scope']) };
      }}
      write={(content, options) => api.cloneReviewPlaybook({ playbook_id: playbook.id, ...content }, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['playbooks'] })}
    />
  );
}

export function AddRevision({ playbook }: { readonly playbook: Playbook }) {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={p.addRevision}
      title={p.addRevisionTitle}
      submit={t.actions.save}
      fields={[
        { kind: 'area', name: 'templates', label: p.templatesField, isMono: true, rows: 16 },
        { name: 'note', label: p.note },
        { kind: 'check', name: 'activate', label: p.activateNow },
      ]}
      initial={{ templates: jsonText(playbook.templates) }}
      toContent={(values) => {
        const templates = objectOf(values['templates']);
        if (templates === undefined || templates === null) return null;
        // The server checks them and points at the field.
        return { templates: templates as Templates, note: textOf(values['note']), activate: isTrue(values['activate']) };
      }}
      write={(content, options) => api.createReviewPlaybookRevision({ playbook_id: playbook.id, ...content }, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['playbook', playbook.id] })}
    />
  );
}
