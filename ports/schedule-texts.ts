import { createHash } from 'node:crypto';
import { renderLeaves } from './template-leaves.ts';
import { TemplateError, type Templates, type TemplateVariables } from './templates.ts';

/** The templates by which a trigger says what it starts. */
export interface TriggerTexts {
  readonly prompt: string;
  readonly input: Record<string, unknown> | null;
  readonly sessionKey: string | null;
  readonly personaSlug: string | null;
  readonly subject: { readonly kind: 'user' | 'guest'; readonly id: string } | null;
}

/** What a trigger's templates are filled with. */
export interface TriggerFilling {
  /** Keeps session keys of different triggers apart: `schedule:<id>`. */
  readonly prefix: string;
  readonly variables: TemplateVariables;
  /** Is told each path that has no value, and in which text. */
  readonly onMissing?: (field: keyof TriggerTexts, path: string) => void;
}

const longestKey = 200;

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
    return rendered.text;
  };
  const key = (await render('sessionKey', texts.sessionKey)).trim();
  const persona = (await render('personaSlug', texts.personaSlug)).trim();
  const subjectId = (await render('subject', texts.subject?.id ?? null)).trim();
  const prompt = await render('prompt', texts.prompt);
  const leaves = onMissing === undefined ? {} : { onMissing: (path: string) => onMissing('input', path) };
  if (prompt.trim() === '') throw new TemplateError('the prompt is empty');
  return {
    prompt,
    input:
      texts.input === null ? null : ((await renderLeaves(texts.input, { ...leaves, templates, variables })) as Record<string, unknown>), // an object stays one
    sessionKey: key === '' ? null : `${prefix}:${key.length > longestKey ? createHash('sha256').update(key).digest('hex') : key}`,
    personaSlug: persona === '' ? null : persona,
    subject: texts.subject === null || subjectId === '' ? null : { kind: texts.subject.kind, id: subjectId },
  };
}
