import Type from 'typebox';
import { Value } from 'typebox/value';
import type { EgressResponse } from '../../ports/egress.ts';
import type { Templates } from '../../ports/templates.ts';
import { failed, type ToolExecution, type ToolOutcome } from './outcome.ts';
import { bodyOutcome } from './output.ts';
import type { ExecutorParts } from './web-fetch.ts';

/** Config of a tool of kind `http` as the API stored it; templates are Liquid. */
const HttpConfig = Type.Object({
  method: Type.String(),
  url: Type.String(),
  query: Type.Optional(Type.Record(Type.String(), Type.String())),
  headers: Type.Optional(Type.Record(Type.String(), Type.String())),
  body: Type.Optional(Type.Object({ mode: Type.String(), template: Type.Optional(Type.Unknown()) })),
  response: Type.Optional(Type.Object({ pointer: Type.Optional(Type.Unknown()), success: Type.Optional(Type.Array(Type.Integer())) })),
  idempotency_header: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  redirects: Type.Optional(Type.Integer()),
});

/** What a header value may hold (RFC 9110 §5.5), beyond ASCII as Latin-1. */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;
const limitBytes = 10 * 1024 * 1024;
const wholeLeaf = /^\s*\{\{\s*([A-Za-z_][\w.]*)\s*\}\}\s*$/;

/** Sends the one request that the tool describes, through the egress guard, and gives its body as text or JSON. */
export async function executeHttp({ egress, templates }: ExecutorParts, execution: ToolExecution): Promise<ToolOutcome> {
  const config = Value.Parse(HttpConfig, execution.tool.config);
  const variables = { ...execution.variables, args: execution.args };
  const url = await renderUrl(templates, config.url, config.query ?? {}, variables);
  if (url === null) return failed('invalid_arguments', 'an argument would leave the path of the tool', false, 'path');
  const headers: Record<string, string> = { accept: 'application/json, text/*;q=0.9, */*;q=0.1' };
  for (const [name, template] of Object.entries(config.headers ?? {}))
    headers[name.toLowerCase()] = oneLine((await templates.render(template, variables)).text);
  if (config.idempotency_header) headers[config.idempotency_header.toLowerCase()] = execution.toolCallId;
  if (Object.values(headers).some((value) => !headerValue.test(value)))
    return failed('invalid_arguments', 'a header value holds characters that HTTP does not allow', false, 'header');
  const body = await renderBody(templates, config.body ?? { mode: 'none' }, variables);
  if (body.contentType !== null) headers['content-type'] ??= body.contentType;

  const answer = await egress.fetch({
    method: config.method,
    url,
    headers,
    ...(body.text === null ? {} : { body: body.text }),
    policy: execution.policy,
    redirects: config.redirects ?? 0,
    limitBytes,
    headersTimeoutMs: execution.timeoutMs,
    signal: execution.signal,
  });
  return outcomeOf(answer, config.response?.success ?? null, typeof config.response?.pointer === 'string' ? config.response.pointer : null);
}

function outcomeOf(answer: EgressResponse, success: readonly number[] | null, pointer: string | null): ToolOutcome {
  const isSuccess =
    success === null || success.length === 0 ? answer.status >= 200 && answer.status < 300 : success.includes(answer.status);
  const outcome = bodyOutcome(answer);
  if (!isSuccess) {
    const excerpt = outcome.status !== 'succeeded' ? '' : outcome.type === 'json' ? JSON.stringify(outcome.value) : outcome.text;
    const retryable = answer.status === 408 || answer.status === 429 || answer.status >= 500;
    return failed('upstream_status', `the server answered ${answer.status}: ${excerpt.slice(0, 600)}`, retryable, String(answer.status));
  }
  if (pointer === null || pointer === '' || outcome.status !== 'succeeded' || outcome.type !== 'json') return outcome;
  return { status: 'succeeded', type: 'json', value: at(outcome.value, pointer) ?? null };
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
  body: { readonly mode: string; readonly template?: unknown },
  variables: Readonly<Record<string, unknown>>,
): Promise<{ text: string | null; contentType: string | null }> {
  if (body.mode === 'none') return { text: null, contentType: null };
  const rendered = await renderLeaves(templates, body.template ?? variables['args'], variables);
  if (body.mode === 'json') return { text: JSON.stringify(rendered), contentType: 'application/json' };
  if (body.mode === 'raw') return { text: String(rendered), contentType: 'text/plain; charset=utf-8' };

  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(isObject(rendered) ? rendered : {})) if (value !== null) form.append(name, String(value));
  return { text: form.toString(), contentType: 'application/x-www-form-urlencoded' };
}

/** Renders every string leaf; a leaf that is exactly one `{{ path }}` keeps the type of its value. */
async function renderLeaves(templates: Templates, node: unknown, variables: Readonly<Record<string, unknown>>): Promise<unknown> {
  if (typeof node === 'string') {
    const whole = wholeLeaf.exec(node)?.[1];
    if (whole !== undefined) return at(variables, `/${whole.replaceAll('.', '/')}`) ?? null;
    return (await templates.render(node, variables)).text;
  }
  if (Array.isArray(node)) return Promise.all(node.map((item) => renderLeaves(templates, item, variables)));
  if (!isObject(node)) return node;
  const entries = await Promise.all(
    Object.entries(node).map(async ([key, value]) => [key, await renderLeaves(templates, value, variables)] as const),
  );
  return Object.fromEntries(entries);
}

function encoded(node: unknown): unknown {
  if (typeof node === 'string') return encodeURIComponent(node);
  if (Array.isArray(node)) return node.map(encoded);
  if (isObject(node)) return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, encoded(value)]));
  return node;
}

/** The value at a JSON pointer (RFC 6901), own properties only; undefined when there is none. */
function at(root: unknown, pointer: string): unknown {
  let node: unknown = root;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (node === null || typeof node !== 'object' || !Object.hasOwn(node, key)) return undefined;
    node = Reflect.get(node, key);
  }
  return node;
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n\0]+/g, ' ').trim();
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
