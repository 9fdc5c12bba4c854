import type { Views } from '../app/api.ts';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { choices, jsonText, objectOf, textOf } from '../ui/form-values.ts';
import { triggerTexts as x } from './messages.ts';

const subjects = ['user', 'guest'] as const;

/** What each trigger says of the runs that it starts. */
export const templateFields: readonly FormField[] = [
  { kind: 'area', name: 'prompt_template', label: x.templates.prompt, hint: x.templates.promptHint, rows: 4 },
  { kind: 'area', name: 'input_template', label: x.templates.input, hint: x.templates.inputHint, isMono: true },
  { name: 'session_key_template', label: x.templates.session },
  { name: 'persona_slug_template', label: x.templates.persona },
  { kind: 'choice', name: 'subject_kind', label: x.templates.subjectKind, options: choices(x.templates.subjects) },
  { name: 'subject_template.id', label: x.templates.subjectId },
];

/** As the API takes them; null: not complete. */
export function templatesOf(values: Values) {
  const input_template = objectOf(values['input_template']);
  const kind = subjects.find((one) => one === values['subject_kind']);
  if (input_template === undefined) return null;
  return {
    input_template,
    session_key_template: textOf(values['session_key_template']),
    persona_slug_template: textOf(values['persona_slug_template']),
    subject_template: kind === undefined ? null : { kind, id: (values['subject_template.id'] ?? '').trim() },
  };
}

type Templates = Pick<
  Views['ScheduleView'],
  'prompt_template' | 'input_template' | 'session_key_template' | 'persona_slug_template' | 'subject_template'
>;

export function templateValues(view: Templates): Values {
  return {
    'prompt_template': view.prompt_template,
    'input_template': jsonText(view.input_template),
    'session_key_template': view.session_key_template ?? '',
    'persona_slug_template': view.persona_slug_template ?? '',
    'subject_kind': view.subject_template?.kind ?? 'none',
    'subject_template.id': view.subject_template?.id ?? '',
  };
}
