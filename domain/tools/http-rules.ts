import type { HttpAuth, HttpToolConfig } from '../../db/tools/tool-config.ts';
import { isReservedHeader, refusalOfUrl, type EgressPolicy } from '../../ports/egress/url.ts';
import { TemplateError, type Templates } from '../../ports/templates/templates.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { escapePointer } from '../../workflows/contracts/tools/json-pointer.ts';

const liquid = /\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}/g;
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const unsafeInUrl = /[\s\u0000-\u0020\u007f-\u009f]/;
const sendable = /^[\t\x20-\x7e\xa0-\xff]*$/;

export interface HttpChecks {
  readonly templates: Templates;
  readonly policy: EgressPolicy;
}

/** Throws 422 for a URL, header, body, credential or template that can't be sent as it is. */
export async function checkHttp(config: HttpToolConfig, checks: HttpChecks): Promise<void> {
  checkOrigin('/config/url', config.url, checks.policy);
  checkAuth(config.auth, checks.policy);
  if (unsafeInUrl.test(config.url.replaceAll(liquid, '')))
    throw invalid('/config/url', 'pattern', 'A URL must not contain spaces or control characters.');
  refuseReservedHeaders(config);
  refuseUnsendableHeaders(config);
  if (config.method === 'GET' || config.method === 'HEAD') {
    if (config.body.mode !== 'none') throw invalid('/config/body/mode', 'enum', 'GET and HEAD cannot have a body.');
  }
  if (config.body.mode === 'raw' && typeof config.body.template !== 'string')
    throw invalid('/config/body/template', 'type', 'A raw body must be a single template.');
  if (config.body.mode === 'form' && config.body.template !== null && !isFlat(config.body.template)) {
    throw invalid('/config/body/template', 'type', 'A form body must be an object of templates.');
  }
  const templates: [string, string][] = [['/config/url', config.url]];
  for (const part of ['query', 'headers'] as const) {
    for (const [name, template] of Object.entries(config[part])) templates.push([`/config/${part}/${escapePointer(name)}`, template]);
  }
  for (const leaf of textsOf(config.body.template, '/config/body/template')) templates.push(leaf);
  await checkTemplates(templates, checks.templates);
}

/** A tool may not set headers that choose another target or break the framing of the request. */
function refuseReservedHeaders(config: HttpToolConfig): void {
  for (const name of Object.keys(config.headers)) {
    if (isReservedHeader(name)) throw invalid(`/config/headers/${escapePointer(name)}`, 'egress', 'A tool cannot set this header.');
  }
  if (config.idempotency_header !== null && isReservedHeader(config.idempotency_header)) {
    throw invalid('/config/idempotency_header', 'egress', 'A tool cannot set this header.');
  }
}

/** A value without a template is sent as it is (RFC 9110 §5.5); the value of a template is checked when it is sent. */
function refuseUnsendableHeaders(config: HttpToolConfig): void {
  for (const [name, value] of Object.entries(config.headers)) {
    if (value.replaceAll(liquid, '') === value && !sendable.test(value))
      throw invalid(
        `/config/headers/${escapePointer(name)}`,
        'pattern',
        'A header can only contain visible Latin-1 characters, spaces and tabs.',
      );
  }
}

/** Checks that the origin is literal and accepted by the egress guard; the rest may be a template. */
export function checkOrigin(pointer: string, url: string, policy: EgressPolicy): void {
  const origin = /^https?:\/\/[^/?#{}%\s]+(?=[/?#]|$)/i.exec(url)?.[0];
  if (origin === undefined) throw invalid(pointer, 'egress', 'The URL must begin with a literal http or https origin.');
  const refusal = refusalOfUrl(`${origin}/`, policy);
  if (refusal !== null) throw invalid(pointer, 'egress', `The URL is not allowed: ${refusal}`);
}

/** Checks that the token address is literal, and that a key is sent only in a header or parameter that the author could set. */
export function checkAuth(auth: HttpAuth, policy: EgressPolicy): void {
  if (auth.type === 'oauth2_client_credentials') {
    checkOrigin('/config/auth/token_url', auth.token_url, policy);
    if (!URL.canParse(auth.token_url) || auth.token_url.includes('{'))
      throw invalid('/config/auth/token_url', 'format', 'The address of the token must be a literal URL.');
  }
  if (auth.type === 'api_key' && auth.in === 'header' && isReservedHeader(auth.name))
    throw invalid('/config/auth/name', 'egress', 'A tool cannot set this header.');
}

/** Checks all templates of a tool in one job. The error contains nothing of the parser's message, which quotes the template. */
async function checkTemplates(given: readonly (readonly [string, string])[], templates: Templates): Promise<void> {
  const parsed = given.filter(([, template]) => template.includes('{'));
  try {
    const fault = parsed[await templates.firstFault(parsed.map(([, template]) => template))];
    if (fault) throw invalid(fault[0], 'template', 'The template cannot be parsed.');
  } catch (error) {
    if (error instanceof TemplateError) throw invalid('/config', 'template', 'The templates could not be parsed in time.');
    throw error;
  }
}

function textsOf(node: unknown, pointer: string): [string, string][] {
  if (typeof node === 'string') return [[pointer, node]];
  if (node === null || typeof node !== 'object') return [];
  return Object.entries(node).flatMap(([key, value]) => textsOf(value, `${pointer}/${escapePointer(key)}`));
}

function isFlat(node: unknown): boolean {
  return (
    typeof node === 'object' && node !== null && !Array.isArray(node) && Object.values(node).every((value) => typeof value === 'string')
  );
}
