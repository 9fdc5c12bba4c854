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

const longestKey = 200;

/**
 * Fills the templates of a trigger. `prefix` keeps session keys of different triggers apart (`schedule:<id>`); an empty key is null: a
 * conversation of one run. Throws TemplateError.
 */
export async function renderTexts(
  templates: Templates,
  texts: TriggerTexts,
  { prefix, variables }: { readonly prefix: string; readonly variables: TemplateVariables },
): Promise<TriggerTexts> {
  const render = async (text: string) => (text.includes('{') ? (await templates.render(text, variables)).text : text);
  const key = texts.sessionKey === null ? '' : (await render(texts.sessionKey)).trim();
  const persona = texts.personaSlug === null ? '' : (await render(texts.personaSlug)).trim();
  const subjectId = texts.subject === null ? '' : (await render(texts.subject.id)).trim();
  const prompt = await render(texts.prompt);
  if (prompt.trim() === '') throw new TemplateError('the prompt is empty');
  return {
    prompt,
    input: texts.input === null ? null : ((await renderLeaves(texts.input, { templates, variables })) as Record<string, unknown>), // an object stays one
    sessionKey: key === '' ? null : `${prefix}:${key.length > longestKey ? createHash('sha256').update(key).digest('hex') : key}`,
    personaSlug: persona === '' ? null : persona,
    subject: texts.subject === null || subjectId === '' ? null : { kind: texts.subject.kind, id: subjectId },
  };
}
