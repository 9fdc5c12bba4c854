import { readPassages, type Passage } from '../../../workflows/contracts/knowledge/passages.ts';
import type { Source } from './excerpts.ts';
import type { PromptToolResult } from '../prompt/prompt.ts';

const bodyKeys = ['text', 'content', 'markdown', 'body', 'output', 'result', 'snippet', 'description', 'summary'];
const deepest = 40;
const itemIdPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/v;

/** Returns a tool's result as texts with their sources: a page, the rows of a search, or the values of any JSON. */
export function sourceOfResult(result: PromptToolResult, args: Record<string, unknown>): Source[] {
  const url = typeof args['url'] === 'string' ? args['url'] : null;
  const origin = { title: null, url, fallback: result.slug };
  if (typeof result.output === 'string') {
    const passages = readPassages(result.output);
    return passages.length === 0 ? [pageOf(result.output, origin)] : passages.map(sourceOfPassage);
  }

  const rows = Array.isArray(result.output) ? result.output : [result.output];
  return rows.flatMap((row) => sourceOfRow(row, origin)).slice(0, 200);
}

/** A passage of a knowledge base is cited by title, page and item. */
export function sourceOfPassage({ head, text }: Passage): Source {
  const title = head.title ?? head.base;
  const place = { title: head.page === null ? title : `${title}, page ${head.page}`, url: head.uri };
  // A user may have typed what looks like a passage.
  return { ...place, text, ...(itemIdPattern.test(head.item_id) ? { itemId: head.item_id } : {}) };
}

interface Origin {
  readonly title: string | null;
  readonly url: string | null;
  readonly fallback: string;
}

/** A page may begin with `Title:` and `URL:` lines, as `web_fetch` writes them. */
function pageOf(text: string, origin: Origin): Source {
  const head = /^(?:Title: (.*)\n)?(?:URL: (\S+)\n)?\n?/.exec(text);
  const body = text.slice(head?.[0].length ?? 0);
  const url = head?.[2] ?? origin.url;
  const heading = /^\s{0,3}#\s+(.+)$/m.exec(body.slice(0, 2_000))?.[1]?.trim();

  return { title: head?.[1] ?? origin.title ?? heading ?? (url === null ? origin.fallback : null), url, text: body };
}

function sourceOfRow(row: unknown, origin: Origin, depth = 0): Source[] {
  if (row === null || typeof row !== 'object' || Array.isArray(row)) return [pageOf(leaves(row).join('\n'), origin)];

  const fields = new Map(Object.entries(row));
  const place = {
    ...origin,
    title: stringOf(fields.get('title')) ?? stringOf(fields.get('name')),
    url: stringOf(fields.get('url')) ?? stringOf(fields.get('link')) ?? origin.url,
  };
  const least = place.title !== null || place.url !== origin.url ? 1 : 80;
  const body = bodyKeys.map((key) => stringOf(fields.get(key))).find((text) => text !== null && text.length >= least);
  if (body) return [pageOf(body, place)];

  const list = [...fields.values()].find(
    (value) => Array.isArray(value) && value.some((item) => item !== null && typeof item === 'object'),
  );
  if (Array.isArray(list) && depth < deepest) return list.flatMap((item) => sourceOfRow(item, origin, depth + 1));
  return [{ title: place.title ?? (place.url === null ? origin.fallback : null), url: place.url, text: leaves(row).join('\n') }];
}

/** Returns `path: value` for each value of a JSON document, one per line. */
function leaves(value: unknown, path = '', depth = 0): string[] {
  if (value === null || value === undefined || depth > deepest) return [];
  if (typeof value !== 'object') return [path === '' ? String(value) : `${path}: ${String(value)}`];

  return Object.entries(value).flatMap(([key, inner]) =>
    leaves(inner, Array.isArray(value) ? path : [path, key].filter((part) => part !== '').join('.'), depth + 1),
  );
}

function stringOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
