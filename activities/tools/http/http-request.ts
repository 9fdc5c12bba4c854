import type { Templates } from '../../../ports/templates/templates.ts';
import type { HttpToolConfig } from '../../../db/tools/tool-config.ts';
import type { HttpParameter } from '../../../workflows/contracts/tools/http-parameters.ts';
import { failed, type ToolExecution, type ToolOutcome } from '../calls/outcome.ts';
import { cookiePairs, encode, headerText, pathText, queryPairs, scalarText, Unsendable, type Pair } from './parameter-styles.ts';
import { formPair, withoutName, withPairs } from './query-pairs.ts';
import { renderBody } from './request-body.ts';
import { valueAt } from '../../../ports/json/pointer.ts';

/** One request as it is sent, except for its credential. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | null;
}

type Variables = Readonly<Record<string, unknown>>;

/** Renders the request that the tool describes. An argument that has no valid form at its location, or would leave it, yields a failed result. */
export async function renderRequest(
  templates: Templates,
  config: HttpToolConfig,
  execution: ToolExecution,
): Promise<HttpRequest | { readonly outcome: ToolOutcome }> {
  try {
    return await requestOf(templates, config, execution);
  } catch (error) {
    if (!(error instanceof Unsendable)) throw error;
    return { outcome: failed('invalid_arguments', error.message, false, 'unsendable') };
  }
}

async function requestOf(
  templates: Templates,
  config: HttpToolConfig,
  execution: ToolExecution,
): Promise<HttpRequest | { readonly outcome: ToolOutcome }> {
  const { parameters } = config;
  const variables = { ...execution.variables, args: execution.args };
  const target = parameters ? operationTarget(config, parameters, execution.args) : await templateTarget(templates, config, variables);
  if (target === null) return { outcome: failed('invalid_arguments', 'an argument would leave the path of the tool', false, 'path') };
  const headers: Record<string, string> = { accept: 'application/json, text/*;q=0.9, */*;q=0.1', ...target.headers };
  if (config.idempotency_header) headers[config.idempotency_header.toLowerCase()] = execution.toolCallId;

  const isLeftOut = parameters !== undefined && execution.args[bodyArgument(config.body.template)] === undefined;
  const body = isLeftOut
    ? null
    : await renderBody(templates.forRequest('refused'), { body: config.body, declaredType: headers['content-type'] ?? null }, variables);
  if (isLeftOut) delete headers['content-type'];
  if (body?.contentType) headers['content-type'] = body.isFixed ? body.contentType : (headers['content-type'] ?? body.contentType);
  return { method: config.method, url: target.url, headers, body: body?.content ?? null };
}

/** The target URL of a request, with the headers that its arguments set. */
interface Target {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A segment that every URL parser removes, percent-encoded or not. */
const dotSegment = /(?:^|\/)(?:\.|%2e){1,2}(?:[/?#]|$)/i;
const wholeTemplate = /^\s*\{\{\s*([A-Za-z_][\w.]*)\s*\}\}\s*$/;

/** Returns the name of the argument that is the whole body of an operation. */
function bodyArgument(template: unknown): string {
  return typeof template === 'string' ? (wholeTemplate.exec(template)?.[1] ?? '').replace(/^args\./, '') : '';
}

/**
 * Returns the target of an operation of an OpenAPI document: each argument by its own shape and the style of its parameter. Null when an argument forms a
 * segment `.` or `..`, which no encoding preserves.
 */
function operationTarget(config: HttpToolConfig, parameters: readonly HttpParameter[], args: Variables): Target | null {
  const { origin, path } = splitUrl(config.url);
  const inPath = new Map(parameters.flatMap((one) => (one.in === 'path' ? [[one.argument, one] as const] : [])));
  const filledPath = path.replaceAll(/\{(\w+)\}/g, (whole, argument: string) => {
    const parameter = inPath.get(argument);
    return parameter ? pathText(parameter, args[argument]) : whole;
  });
  if (dotSegment.test(filledPath)) return null;

  const pairs: Pair[] = [];
  const cookies: Pair[] = [];
  const headers: Record<string, string> = lowerCased(config.headers);
  for (const parameter of parameters) {
    const value = args[parameter.argument];
    if (parameter.in === 'query') pairs.push(...queryPairs(parameter, value));
    if (parameter.in === 'cookie') cookies.push(...cookiePairs(parameter, value));
    const text = parameter.in === 'header' ? headerText(parameter, value) : null;
    if (text !== null && text !== '') headers[parameter.name.toLowerCase()] = text;
  }
  if (cookies.length > 0) headers['cookie'] = cookies.map(([name, value]) => `${name}=${value}`).join('; ');
  return { url: withPairs(new URL(origin + filledPath).href, pairs), headers };
}

/**
 * Returns the target of a tool made of templates. The origin is literal; in the path every argument is percent-encoded, so that no argument can add a segment
 * or a query. A header or query value that is a single argument is written by its shape, a list in the default style of its location. Null as above.
 */
async function templateTarget(templates: Templates, config: HttpToolConfig, variables: Variables): Promise<Target | null> {
  const { origin, path } = splitUrl(config.url);
  // `encoded` preserves the shape
  const text = path === '' ? '' : (await templates.forRequest('joined').render(path, encoded(variables) as Variables)).text;
  if (dotSegment.test(text)) return null;
  let url = new URL(origin + text).href;
  for (const [name, template] of Object.entries(config.query)) {
    const values = await textsOf(templates, template, variables);
    if (values.length === 0) continue;
    url = withPairs(
      withoutName(url, name),
      values.map((value) => formPair(name, value)),
    );
  }
  const headers: Record<string, string> = {};
  for (const [name, template] of Object.entries(config.headers)) {
    const value = oneLine((await textsOf(templates, template, variables)).join(','));
    if (value !== '') headers[name.toLowerCase()] = value; // an optional argument that was omitted
  }
  return { url, headers };
}

/** Returns what a template yields: one text, none when it is empty, or the members when its value is a list. */
async function textsOf(templates: Templates, template: string, variables: Variables): Promise<string[]> {
  const path = wholeTemplate.exec(template)?.[1];
  const value = path === undefined ? undefined : valueAt(variables, `/${path.replaceAll('.', '/')}`);
  if (!Array.isArray(value)) {
    const { text } = await templates.forRequest('refused').render(template, variables);
    return text === '' ? [] : [text];
  }
  return value
    .filter((member) => member !== null)
    .map((member) => {
      const text = scalarText(member);
      if (text === null)
        throw new Unsendable(`${path} may hold texts, numbers and booleans only: lists and objects in it have no form there`);
      return text;
    });
}

function splitUrl(url: string): { readonly origin: string; readonly path: string } {
  const split = /^([a-z]+:\/\/[^/?#{]+)(.*)$/is.exec(url);
  return { origin: split?.[1] ?? url, path: split?.[2] ?? '' };
}

function encoded(node: unknown): unknown {
  if (typeof node === 'string') return encodeURIComponent(node);
  if (Array.isArray(node)) return node.map(encoded);
  if (isObject(node)) return Object.fromEntries(Object.entries(node).map(([key, value]) => [encodedName(key), encoded(value)]));
  return node;
}

/** A loop yields names as well. Only the characters that delimit a URL are encoded, so that templates find the other names unchanged. */
function encodedName(name: string): string {
  return name.replaceAll(/[/?#%\\]/g, encode);
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n\0]+/g, ' ').trim();
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
