import type { PersonaDocument } from '../personas/persona-document.ts';
import type { RevisionDocument } from '../revisions/revision-document.ts';

/** The parts of a persona that concern instructions. */
export type PersonaVoice = Pick<PersonaDocument, 'instructions' | 'instructions_mode'>;

/** Returns the template of the system prompt: the revision's, with the persona's appended, prepended or in its place. */
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

/** A skill as the prompt lists it, or contains it. */
export interface PromptSkill {
  readonly slug: string;
  readonly description: string;
  /** The text of an `always` skill; null for one that is loaded on demand. */
  readonly text: string | null;
}

/**
 * Returns the system prompt: the rendered instructions, the skill texts that are always included, and the list of loadable skills. Equal input gives an
 * equal prompt.
 */
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

/** Estimates a text's tokens from its UTF-8 length: four bytes each, the long-run mean of common tokenizers. */
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

/** Returns what the template of the system prompt may read. */
export function templateVariables({ persona, ...facts }: TemplateFacts): Record<string, unknown> {
  if (persona === null) return { ...facts, persona: {} };
  const { slug, name, locale, greeting, attributes } = persona;
  return { ...facts, persona: { slug, name, locale, greeting, attributes } };
}

/** Returns the values of a revision's variables: those in the input's JSON under their names, else their defaults. */
export function variablesOf({ variables }: Pick<RevisionDocument, 'variables'>, json: unknown): Record<string, unknown> {
  const given: Record<string, unknown> = json !== null && typeof json === 'object' && !Array.isArray(json) ? { ...json } : {};
  const valueOf = (name: string) => (Object.hasOwn(given, name) ? given[name] : null); // an inherited name like constructor does not count as a field
  return Object.fromEntries(variables.map((variable) => [variable.name, valueOf(variable.name) ?? variable.default]));
}
