import type { PersonaDocument } from '../personas/persona-document.ts';
import type { RevisionDocument } from '../revisions/revision-document.ts';

/** What a persona says of instructions. */
export type PersonaVoice = Pick<PersonaDocument, 'instructions' | 'instructions_mode'>;

/** The template of the system prompt: the revision's with the persona's after, before or in place of it. */
export function instructionsTemplate({ instructions }: Pick<RevisionDocument, 'instructions'>, persona: PersonaVoice | null): string {
  if (persona === null || persona.instructions === '') return instructions;
  switch (persona.instructions_mode) {
    case 'append':
      return joined(instructions, persona.instructions);
    case 'prepend':
      return joined(persona.instructions, instructions);
    case 'replace':
      return persona.instructions;
    default:
      return persona.instructions_mode satisfies never;
  }
}

/** A skill as the prompt names it, or holds it. */
export interface PromptSkill {
  readonly slug: string;
  readonly description: string;
  /** Of an `always` skill; null for one that is loaded on demand. */
  readonly text: string | null;
}

/** The system prompt: the rendered instructions, the texts that are always there, the list of what can be loaded. Equal input, equal prompt. */
export function withSkills(rendered: string, skills: readonly PromptSkill[]): string {
  const texts = skills.flatMap(({ slug, text }) => (text === null ? [] : [`<skill name="${slug}">\n${text}\n</skill>`]));
  const listed = skills.flatMap(({ slug, description, text }) => (text === null ? [`- ${slug}: ${oneLine(description)}`] : []));
  const list = listed.length === 0 ? '' : `Skills that you can load with skill_load when they fit the task:\n${listed.join('\n')}`;
  return [rendered, ...texts, list].reduce(joined, '');
}

function joined(first: string, second: string): string {
  return first === '' || second === '' ? first + second : `${first}\n\n${second}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** Tokens of a text by its UTF-8 length: four bytes each, the long-run mean of common tokenizers. */
export function roughTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

export interface TemplateFacts {
  readonly agent: unknown;
  readonly persona: Pick<PersonaDocument, 'slug' | 'name' | 'locale' | 'greeting' | 'attributes'> | null;
  readonly subject: { readonly kind: string | null; readonly id: string | null };
  readonly workspace: unknown;
  readonly now: string;
  readonly vars: Readonly<Record<string, unknown>>;
}

/** What the template of the system prompt may read. */
export function templateVariables({ persona, ...facts }: TemplateFacts): Record<string, unknown> {
  if (persona === null) return { ...facts, persona: {} };
  const { slug, name, locale, greeting, attributes } = persona;
  return { ...facts, persona: { slug, name, locale, greeting, attributes } };
}

/** Values of a revision's variables: what the input's JSON has under their names, else their defaults. */
export function variablesOf({ variables }: Pick<RevisionDocument, 'variables'>, json: unknown): Record<string, unknown> {
  const given: Record<string, unknown> = json !== null && typeof json === 'object' && !Array.isArray(json) ? { ...json } : {};
  const valueOf = (name: string) => (Object.hasOwn(given, name) ? given[name] : null); // a name like constructor is no field of it
  return Object.fromEntries(variables.map((variable) => [variable.name, valueOf(variable.name) ?? variable.default]));
}
