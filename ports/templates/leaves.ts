import { valueAt } from '../json/pointer.ts';
import type { Templates, TemplateVariables } from './templates.ts';

const wholeLeaf = /^\s*\{\{\s*([A-Za-z_][\w.]*)\s*\}\}\s*$/;

/** How the leaves of a JSON template are filled. */
export interface LeafRendering {
  readonly templates: Pick<Templates, 'renderEach'>;
  readonly variables: TemplateVariables;
  /** Called with each path that has no value. */
  readonly onMissing?: (path: string) => void;
}

/**
 * Renders every string leaf of a value, all in one job; a leaf that is exactly one `{{ path }}` keeps the type of its value. Keys are unchanged, and so is a
 * leaf without a brace. Throws as the templates do.
 */
export async function renderLeaves(node: unknown, { templates, variables, onMissing }: LeafRendering): Promise<unknown> {
  const texts = new Set<string>();
  replaceLeaves(node, (text) => {
    if (text.includes('{') && !wholeLeaf.test(text)) texts.add(text);
    return text;
  });
  const rendered = await templates.renderEach([...texts], variables);
  for (const path of rendered.flatMap(({ missing }) => missing)) onMissing?.(path);
  const filled = new Map([...texts].map((text, at) => [text, rendered[at]?.text ?? '']));
  return replaceLeaves(node, (text) => {
    const path = wholeLeaf.exec(text)?.[1];
    if (path === undefined) return filled.get(text) ?? text;
    const value = valueAt(variables, `/${path.replaceAll('.', '/')}`);
    if (value === undefined) onMissing?.(path);
    return value ?? null;
  });
}

function replaceLeaves(node: unknown, replace: (text: string) => unknown): unknown {
  if (typeof node === 'string') return replace(node);
  if (Array.isArray(node)) return node.map((item: unknown) => replaceLeaves(item, replace));
  if (node === null || typeof node !== 'object') return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]: [string, unknown]) => [key, replaceLeaves(value, replace)]));
}
