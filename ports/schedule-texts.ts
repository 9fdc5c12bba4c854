import { createHash } from 'node:crypto';
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
const wholeLeaf = /^\s*\{\{\s*([A-Za-z_][\w.]*)\s*\}\}\s*$/;

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
    input:
      texts.input === null
        ? null
        : (Object.fromEntries(await renderEntries(texts.input, { render, variables })) as Record<string, unknown>), // its keys stay
    sessionKey: key === '' ? null : `${prefix}:${key.length > longestKey ? createHash('sha256').update(key).digest('hex') : key}`,
    personaSlug: persona === '' ? null : persona,
    subject: texts.subject === null || subjectId === '' ? null : { kind: texts.subject.kind, id: subjectId },
  };
}

interface Rendering {
  readonly render: (text: string) => Promise<string>;
  readonly variables: TemplateVariables;
}

function renderEntries(node: object, rendering: Rendering): Promise<(readonly [string, unknown])[]> {
  return Promise.all(
    Object.entries(node).map(async ([key, value]: [string, unknown]) => [key, await renderLeaves(value, rendering)] as const),
  );
}

/** A leaf that is exactly one `{{ path }}` keeps the type of its value. */
async function renderLeaves(node: unknown, rendering: Rendering): Promise<unknown> {
  if (typeof node === 'string') {
    const path = wholeLeaf.exec(node)?.[1];
    return path === undefined ? rendering.render(node) : (at(rendering.variables, path.split('.')) ?? null);
  }
  if (Array.isArray(node)) return Promise.all(node.map((item) => renderLeaves(item, rendering)));
  if (node === null || typeof node !== 'object') return node;
  return Object.fromEntries(await renderEntries(node, rendering));
}

function at(root: unknown, path: readonly string[]): unknown {
  let node = root;
  for (const key of path) {
    if (node === null || typeof node !== 'object' || !Object.hasOwn(node, key)) return undefined;
    node = Reflect.get(node, key);
  }
  return node;
}
