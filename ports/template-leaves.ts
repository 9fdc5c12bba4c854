import { valueAt } from './json-pointer.ts';
import type { TemplateVariables } from './templates.ts';

const wholeLeaf = /^\s*\{\{\s*([A-Za-z_][\w.]*)\s*\}\}\s*$/;

/** How the leaves of a JSON template are filled. */
export interface LeafRendering {
  readonly render: (text: string) => Promise<string>;
  readonly variables: TemplateVariables;
}

/** Renders every string leaf of a value; a leaf that is exactly one `{{ path }}` keeps the type of its value. Keys stay. */
export async function renderLeaves(node: unknown, rendering: LeafRendering): Promise<unknown> {
  if (typeof node === 'string') {
    const path = wholeLeaf.exec(node)?.[1];
    return path === undefined ? rendering.render(node) : (valueAt(rendering.variables, `/${path.replaceAll('.', '/')}`) ?? null);
  }
  if (Array.isArray(node)) return Promise.all(node.map((item) => renderLeaves(item, rendering)));
  if (node === null || typeof node !== 'object') return node;
  const entries = await Promise.all(
    Object.entries(node).map(async ([key, value]: [string, unknown]) => [key, await renderLeaves(value, rendering)] as const),
  );
  return Object.fromEntries(entries);
}
