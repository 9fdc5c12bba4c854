import { useQuery } from '@tanstack/react-query';
import { api, type Views } from '../app/api.ts';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { triggerTexts as x } from './messages.ts';

/** The agents that something can start, for a choice, and their names. */
export function useAgents() {
  const agents = useQuery({ queryKey: ['agents'], queryFn: ({ signal }) => api.listAgents({ limit: 200 }, { signal }), staleTime: 60_000 });
  const items = agents.data?.items ?? [];
  return {
    options: items.map(({ id, name }) => ({ id, label: name })),
    nameOf: (id: string) => items.find((one) => one.id === id)?.name ?? `…${id.slice(-12)}`,
  };
}

export type Agents = ReturnType<typeof useAgents>;

/** A text; empty: null. */
export const textOf = (value = ''): string | null => (value.trim() === '' ? null : value.trim());

/** An object as JSON; empty: null; undefined: it is none, and the form can't be sent. */
export function objectOf(value = ''): Record<string, unknown> | null | undefined {
  if (value.trim() === '') return null;
  try {
    const read: unknown = JSON.parse(value);
    return typeof read === 'object' && read !== null && !Array.isArray(read) ? (read as Record<string, unknown>) : undefined; // told above
  } catch {
    return undefined;
  }
}

export const jsonText = (value: unknown): string => (value === null || value === undefined ? '' : JSON.stringify(value, null, 2));

/** What a field of the kind `moment` holds, in the reader's zone, as the API has it; and back. */
export const instantOf = (value = ''): string | null => (value === '' ? null : new Date(value).toISOString());
/** The instant as a field of the person's own zone has it, to the millisecond: what nobody touches is saved as it was. */
export function momentOf(at: string | null): string {
  if (at === null) return '';
  const date = new Date(at);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 23);
  return local.replace(/(?::00)?\.000$/, '');
}

export const isTrue = (value: string | undefined): boolean => value === 'true';
export const choices = <T extends string>(labels: Readonly<Record<T, string>>) =>
  (Object.keys(labels) as T[]).map((id) => ({ id, label: labels[id] })); // keys of that record

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
