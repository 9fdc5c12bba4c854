import { createHash } from 'node:crypto';

const maxLength = 64;

/**
 * The slug of a toolkit's tool, `<toolkit>__<tool>`: what a model may call it. Characters that no model takes become `_`; a name that is too
 * long, or that another tool has become already, ends with a piece of its hash, so that the slug of a name never depends on the rest.
 */
export function toolSlug(toolkitSlug: string, name: string, taken: ReadonlySet<string>): string {
  const slug = `${toolkitSlug}__${name.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '_')}`;
  if (slug.length <= maxLength && !taken.has(slug)) return slug;
  const mark = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${slug.slice(0, maxLength - mark.length - 1)}_${mark}`;
}
