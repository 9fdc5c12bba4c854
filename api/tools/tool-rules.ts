import type Type from 'typebox';
import {
  builtinInputSchemas,
  completeHttpConfig,
  completeWebFetchConfig,
  effectOfMethod,
  emptyInputSchema,
  webFetchInputSchema,
  type BuiltinToolConfig,
  type HttpConfigDraft,
  type HttpToolConfig,
  type WebFetchToolConfig,
} from '../../db/tools/tool-config.ts';
import type { NewTool } from '../../db/tools/tools.ts';
import { escapePointer } from '../http/text-scan.ts';
import { checkUrlForm, EgressRefused, isReservedHeader, type EgressPolicy } from '../../ports/egress.ts';
import type { TenantSchemas } from '../../ports/json-schema.ts';
import type { Templates } from '../../ports/templates.ts';
import { fail, invalid, type Violation } from '../../workflows/contracts/failure.ts';
import type { ToolCreate } from './tool.schema.ts';

const liquid = /\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}/g;
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const unsafeInUrl = /[\s\u0000-\u0020\u007f-\u009f]/;
const sendable = /^[\t\x20-\x7e\xa0-\xff]*$/;

type Body = Type.Static<typeof ToolCreate>;

/** What a kind makes of a body: the schema that the model sees, the stored config and the effect it has unless told otherwise. */
export interface ToolShape {
  readonly inputSchema: Record<string, unknown>;
  readonly config: Record<string, unknown>;
  readonly effect: 'read' | 'write';
}

export interface ToolChecks {
  readonly schemas: TenantSchemas;
  readonly templates: Templates;
  readonly policy: EgressPolicy;
}

/** The shape of a new tool. Throws 422 for a schema, template or URL that can't be used. */
export async function shapeOf(body: Body, checks: ToolChecks): Promise<ToolShape> {
  switch (body.kind) {
    case 'http': {
      // The body's schema has checked the config against its kind.
      const config = completeHttpConfig(body.config as unknown as HttpConfigDraft);
      await checkHttp(config, checks);
      return {
        inputSchema: await checkedSchema(body.input_schema ?? { ...emptyInputSchema }, checks),
        config: { ...config },
        effect: effectOfMethod(config.method),
      };
    }
    case 'web_fetch': {
      refuseOwnSchema(body);
      const config: WebFetchToolConfig = completeWebFetchConfig(body.config ?? {});
      return { inputSchema: { ...webFetchInputSchema }, config: { ...config }, effect: 'read' };
    }
    case 'builtin': {
      refuseOwnSchema(body);
      const { name } = body.config as unknown as BuiltinToolConfig;
      return { inputSchema: { ...builtinInputSchemas[name] }, config: { name, options: {} }, effect: 'read' };
    }
    default:
      return body.kind satisfies never;
  }
}

/** The columns of a new tool, where it lives aside. */
export function toNewTool(body: Body, shape: ToolShape): Omit<NewTool, 'scope' | 'organizationId' | 'workspaceId'> {
  const effect = body.effect ?? shape.effect;
  return {
    slug: body.slug,
    kind: body.kind,
    displayName: body.display_name ?? null,
    description: body.description,
    inputSchema: shape.inputSchema,
    config: shape.config,
    effect,
    concurrency: body.concurrency ?? effect,
    responseMaxChars: body.response_max_chars ?? 20_000,
    timeoutS: body.timeout_s ?? 60,
    isActive: body.is_active ?? true,
  };
}

function refuseOwnSchema(body: Body): void {
  if (body.input_schema !== undefined)
    throw invalid('/input_schema', 'unknown_field', 'The kind of the tool fixes what the model may send.');
}

async function checkedSchema(schema: Record<string, unknown>, checks: ToolChecks): Promise<Record<string, unknown>> {
  const problems = await checks.schemas.check(schema);
  if (problems.length === 0) return schema;
  throw fail('validation_failed', {
    detail: 'The input schema can not be used.',
    errors: problems.map((problem): Violation => ({
      in: 'body',
      pointer: `/input_schema${problem.pointer}`,
      name: null,
      rule: problem.rule,
      message: problem.message,
    })),
  });
}

async function checkHttp(config: HttpToolConfig, checks: ToolChecks): Promise<void> {
  checkOrigin(config.url, checks.policy);
  if (unsafeInUrl.test(config.url.replaceAll(liquid, '')))
    throw invalid('/config/url', 'pattern', 'A URL holds no spaces and no control characters.');
  refuseReservedHeaders(config);
  refuseUnsendableHeaders(config);
  if (config.method === 'GET' || config.method === 'HEAD') {
    if (config.body.mode !== 'none') throw invalid('/config/body/mode', 'enum', 'GET and HEAD send no body.');
  }
  if (config.body.mode === 'raw' && typeof config.body.template !== 'string')
    throw invalid('/config/body/template', 'type', 'A raw body is one template.');
  if (config.body.mode === 'form' && config.body.template !== null && !isFlat(config.body.template)) {
    throw invalid('/config/body/template', 'type', 'A form is an object of templates.');
  }
  const templates: [string, string][] = [['/config/url', config.url]];
  for (const part of ['query', 'headers'] as const) {
    for (const [name, template] of Object.entries(config[part])) templates.push([`/config/${part}/${escapePointer(name)}`, template]);
  }
  for (const leaf of textsOf(config.body.template, '/config/body/template')) templates.push(leaf);
  for (const [pointer, template] of templates) await checkTemplate(pointer, template, checks.templates);
}

/** Headers that choose another target or break the framing of the request are not a tool's to set. */
function refuseReservedHeaders(config: HttpToolConfig): void {
  for (const name of Object.keys(config.headers)) {
    if (isReservedHeader(name)) throw invalid(`/config/headers/${escapePointer(name)}`, 'egress', 'This header can not be set by a tool.');
  }
  if (config.idempotency_header !== null && isReservedHeader(config.idempotency_header)) {
    throw invalid('/config/idempotency_header', 'egress', 'This header can not be set by a tool.');
  }
}

/** A value without a template goes out as it is (RFC 9110 §5.5); what a template gives is looked at when it is sent. */
function refuseUnsendableHeaders(config: HttpToolConfig): void {
  for (const [name, value] of Object.entries(config.headers)) {
    if (value.replaceAll(liquid, '') === value && !sendable.test(value))
      throw invalid(`/config/headers/${escapePointer(name)}`, 'pattern', 'A header holds visible characters of Latin-1, spaces and tabs.');
  }
}

/** The origin is literal and one that the egress guard lets out; what follows may be a template. */
function checkOrigin(url: string, policy: EgressPolicy): void {
  const origin = /^https?:\/\/[^/?#{}%\s]+(?=[/?#]|$)/i.exec(url)?.[0];
  if (origin === undefined) throw invalid('/config/url', 'egress', 'The URL must begin with a literal http or https origin.');
  try {
    checkUrlForm(`${origin}/`, policy);
  } catch (error) {
    if (error instanceof EgressRefused) throw invalid('/config/url', 'egress', `The URL is refused: ${error.message}`);
    throw error;
  }
}

async function checkTemplate(pointer: string, template: string, templates: Templates): Promise<void> {
  if (!template.includes('{')) return;
  try {
    await templates.check(template);
  } catch {
    // The parser's message quotes the template.
    throw invalid(pointer, 'template', 'The template can not be read.');
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
