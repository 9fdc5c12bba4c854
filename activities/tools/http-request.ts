import { renderLeaves } from '../../ports/template-leaves.ts';
import type { Templates } from '../../ports/templates.ts';
import type { HttpToolConfig } from '../../db/tools/tool-config.ts';
import { failed, type ToolExecution, type ToolOutcome } from './outcome.ts';

/** One request as it is sent, but for its credential. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** Renders the request that the tool describes. An argument that would leave its place gives a failed result. */
export async function renderRequest(
  templates: Templates,
  config: HttpToolConfig,
  execution: ToolExecution,
): Promise<HttpRequest | { readonly outcome: ToolOutcome }> {
  const variables = { ...execution.variables, args: execution.args };
  const url = await renderUrl(templates, config.url, config.query, variables);
  if (url === null) return { outcome: failed('invalid_arguments', 'an argument would leave the path of the tool', false, 'path') };
  const headers: Record<string, string> = { accept: 'application/json, text/*;q=0.9, */*;q=0.1' };
  for (const [name, template] of Object.entries(config.headers)) {
    const value = oneLine((await templates.render(template, variables)).text);
    if (value !== '') headers[name.toLowerCase()] = value; // an optional argument that was not given
  }
  if (config.idempotency_header) headers[config.idempotency_header.toLowerCase()] = execution.toolCallId;
  const body = await renderBody(templates, config.body, variables);
  if (body.contentType !== null) headers['content-type'] ??= body.contentType;
  return { method: config.method, url, headers, body: body.text };
}

/** A segment that every URL parser resolves away, percent-encoded or not. */
const dotSegment = /(?:^|\/)(?:\.|%2e){1,2}(?:[/?#]|$)/i;

/**
 * The origin is literal; in the path every argument is percent-encoded, so that no argument can add a segment or a query.
 * Null when an argument makes a segment `.` or `..`, which no encoding keeps in its place.
 */
async function renderUrl(
  templates: Templates,
  template: string,
  query: Readonly<Record<string, string>>,
  variables: Readonly<Record<string, unknown>>,
): Promise<string | null> {
  const split = /^([a-z]+:\/\/[^/?#{]+)(.*)$/is.exec(template);
  const origin = split?.[1] ?? template;
  const path = split?.[2] ?? '';
  const rendered = path === '' ? '' : (await templates.render(path, encoded(variables) as Record<string, unknown>)).text; // encoded keeps the shape
  if (dotSegment.test(rendered)) return null;
  const url = new URL(origin + rendered);
  for (const [name, value] of Object.entries(query)) {
    const { text } = await templates.render(value, variables);
    if (text !== '') url.searchParams.set(name, text);
  }
  return url.href;
}

async function renderBody(
  templates: Templates,
  body: HttpToolConfig['body'],
  variables: Readonly<Record<string, unknown>>,
): Promise<{ text: string | null; contentType: string | null }> {
  if (body.mode === 'none') return { text: null, contentType: null };
  const rendered = await renderLeaves(body.template ?? variables['args'], { templates, variables });
  if (body.mode === 'json') return { text: JSON.stringify(rendered), contentType: 'application/json' };
  if (body.mode === 'raw') return { text: String(rendered), contentType: 'text/plain; charset=utf-8' };

  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(isObject(rendered) ? rendered : {})) if (value !== null) form.append(name, String(value));
  return { text: form.toString(), contentType: 'application/x-www-form-urlencoded' };
}

function encoded(node: unknown): unknown {
  if (typeof node === 'string') return encodeURIComponent(node);
  if (Array.isArray(node)) return node.map(encoded);
  if (isObject(node)) return Object.fromEntries(Object.entries(node).map(([key, value]) => [encodedName(key), encoded(value)]));
  return node;
}

/** A loop gives names as well. Only what divides a URL is encoded, so that templates find the others by their names. */
function encodedName(name: string): string {
  return name.replaceAll(/[/?#%\\]/g, encodeURIComponent);
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n\0]+/g, ' ').trim();
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
