import { createHash } from 'node:crypto';
import { renderLeaves } from '../templates/leaves.ts';
import { TemplateError, type Templates, type TemplateVariables } from '../templates/templates.ts';

/** The templates of what a trigger starts. */
export interface TriggerTexts {
  readonly prompt: string;
  readonly input: Record<string, unknown> | null;
  readonly sessionKey: string | null;
  readonly personaSlug: string | null;
  readonly subject: { readonly kind: 'user' | 'guest'; readonly id: string } | null;
}

/** The values for a trigger's templates. */
export interface TriggerFilling {
  /** Separates session keys of different triggers: `schedule:<id>`. */
  readonly prefix: string;
  readonly variables: TemplateVariables;
  /** Called with each path that has no value, and the text that contains it. */
  readonly onMissing?: (field: keyof TriggerTexts, path: string) => void;
}

/** A schedule with its templates, as its row names them. */
export interface TemplatesOfSchedule {
  readonly id: string;
  readonly name: string;
  readonly promptTemplate: string;
  readonly inputTemplate: Record<string, unknown> | null;
  readonly sessionKeyTemplate: string | null;
  readonly personaSlugTemplate: string | null;
  readonly subjectTemplate: TriggerTexts['subject'];
}

/** What the templates of a schedule see of an instant. */
export interface SeenInstant {
  readonly at: Date;
  /** Local time with offset. */
  readonly localTime: string;
  readonly now: Date;
}

/** Fills the templates of a schedule for one instant. Throws TemplateError. */
export function fillSchedule(
  templates: Templates,
  schedule: TemplatesOfSchedule,
  { at, localTime, now }: SeenInstant,
): Promise<TriggerTexts> {
  const texts = {
    prompt: schedule.promptTemplate,
    input: schedule.inputTemplate,
    sessionKey: schedule.sessionKeyTemplate,
    personaSlug: schedule.personaSlugTemplate,
    subject: schedule.subjectTemplate,
  };
  const variables = {
    schedule: { id: schedule.id, name: schedule.name, nominal_at: at.toISOString(), local_time: localTime },
    now: now.toISOString(),
  };
  return renderTexts(templates, texts, { prefix: `schedule:${schedule.id}`, variables });
}

const maxKey = 200;
const maxSubject = 200;

/** Fills the templates of a trigger. An empty session key is null: a conversation of one run. Throws TemplateError. */
export async function renderTexts(
  templates: Templates,
  texts: TriggerTexts,
  { prefix, variables, onMissing }: TriggerFilling,
): Promise<TriggerTexts> {
  const render = async (field: keyof TriggerTexts, text: string | null) => {
    if (text === null || !text.includes('{')) return text ?? '';
    const rendered = await templates.render(text, variables);
    for (const path of rendered.missing) onMissing?.(field, path);
    // A filter may produce text that the database can't store.
    return storable(rendered.text);
  };
  const key = (await render('sessionKey', texts.sessionKey)).trim();
  const persona = (await render('personaSlug', texts.personaSlug)).trim();
  const subjectId = (await render('subject', texts.subject?.id ?? null)).trim();
  if (subjectId.length > maxSubject) throw new TemplateError(`the id of the subject is longer than ${maxSubject} characters`);
  const prompt = await render('prompt', texts.prompt);
  const leaves = onMissing === undefined ? {} : { onMissing: (path: string) => onMissing('input', path) };
  if (prompt.trim() === '') throw new TemplateError('the prompt is empty');
  return {
    prompt,
    input:
      texts.input === null
        ? null
        : (storableLeaves(await renderLeaves(texts.input, { ...leaves, templates, variables })) as Record<string, unknown>), // an object stays one
    sessionKey: key === '' ? null : `${prefix}:${key.length > maxKey ? createHash('sha256').update(key).digest('hex') : key}`,
    personaSlug: persona === '' ? null : persona,
    subject: texts.subject === null || subjectId === '' ? null : { kind: texts.subject.kind, id: subjectId },
  };
}

function storable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\uFFFD');
}

function storableLeaves(node: unknown): unknown {
  if (typeof node === 'string') return storable(node);
  if (Array.isArray(node)) return node.map(storableLeaves);
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [storable(name), storableLeaves(value)]));
}
