import type { BodyMode, FieldForm, HttpParameter } from '../../workflows/contracts/http-parameters.ts';
import { skillLoadInputSchema } from '../agents/skill-load-tool.ts';
import { skillWriteInputSchema } from '../skills/skill-write-schema.ts';
import { askUserInputSchema } from './ask-user.ts';

/** Kinds of tools that an author makes; those of kind remote_protocol come with their toolkit. */
export const creatableToolKinds = ['http', 'builtin', 'code_exec', 'web_search', 'web_fetch', 'delegate', 'schedule'] as const;
export type CreatableToolKind = (typeof creatableToolKinds)[number];

export const builtinNames = ['current_time', 'result_read', 'attachment_read', 'skill_load', 'skill_write', 'ask_user'] as const;
export type BuiltinName = (typeof builtinNames)[number];

export const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type HttpMethod = (typeof httpMethods)[number];

/** How a request proves who sends it; `secret` is always the name of one. */
export type HttpAuth =
  | { readonly type: 'none' }
  | { readonly type: 'bearer'; readonly secret: string }
  | { readonly type: 'basic'; readonly user: string; readonly secret: string }
  | { readonly type: 'api_key'; readonly in: 'header' | 'query'; readonly name: string; readonly secret: string }
  | {
      readonly type: 'oauth2_client_credentials';
      readonly token_url: string;
      readonly client_id: string;
      readonly secret: string;
      readonly scope: string | null;
    };

/** As an author sends it: the scope may be left out. */
export type HttpAuthDraft =
  | Exclude<HttpAuth, { readonly type: 'oauth2_client_credentials' }>
  | (Omit<Extract<HttpAuth, { readonly type: 'oauth2_client_credentials' }>, 'scope'> & { readonly scope?: string | null });

/** Config of kind http: origin is literal, everything else is a Liquid template over the arguments. */
export interface HttpToolConfig {
  readonly method: HttpMethod;
  readonly url: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: HttpBody;
  /**
   * Of an operation of an OpenAPI document: its arguments outside the body. With them nothing but the body is a template: `url` has an argument's
   * name in braces where its parameter stands.
   */
  readonly parameters?: readonly HttpParameter[];
  readonly auth: HttpAuth;
  /** Where in a JSON reply the result is, and which statuses count as success (none: any 2xx). */
  readonly response: { readonly pointer: string | null; readonly success: readonly number[] };
  readonly idempotency_header: string | null;
  readonly redirects: number;
}

/** What is sent as the body: `template` filled, and its fields written as `fields` say. */
export interface HttpBody {
  readonly mode: BodyMode;
  readonly template: unknown;
  readonly fields?: Readonly<Record<string, FieldForm>>;
}

export interface WebFetchToolConfig {
  readonly allow_domains: readonly string[];
  readonly deny_domains: readonly string[];
  readonly max_bytes: number;
  readonly format: 'markdown' | 'text' | 'raw';
  readonly robots: boolean;
  readonly cache_s: number;
}

export interface BuiltinToolConfig {
  readonly name: BuiltinName;
  readonly options: Readonly<Record<string, never>>;
}

/** A config as an author sends it; `completeHttpConfig` and its siblings give the stored form. */
export type HttpConfigDraft = Pick<HttpToolConfig, 'method' | 'url'> & {
  readonly query?: HttpToolConfig['query'];
  readonly headers?: HttpToolConfig['headers'];
  readonly body?: Partial<HttpBody>;
  readonly parameters?: HttpToolConfig['parameters'];
  readonly auth?: HttpAuthDraft;
  readonly response?: Partial<HttpToolConfig['response']>;
  readonly idempotency_header?: string | null;
  readonly redirects?: number;
};

export function completeHttpConfig(draft: HttpConfigDraft): HttpToolConfig {
  return {
    method: draft.method,
    url: draft.url,
    query: draft.query ?? {},
    headers: draft.headers ?? {},
    body: {
      mode: draft.body?.mode ?? 'none',
      template: draft.body?.template ?? null,
      ...(draft.body?.fields === undefined ? {} : { fields: draft.body.fields }),
    },
    ...(draft.parameters === undefined ? {} : { parameters: draft.parameters }),
    auth: completeHttpAuth(draft.auth ?? { type: 'none' }),
    response: { pointer: draft.response?.pointer ?? null, success: draft.response?.success ?? [] },
    idempotency_header: draft.idempotency_header ?? null,
    redirects: draft.redirects ?? 0,
  };
}

export function completeHttpAuth(draft: HttpAuthDraft): HttpAuth {
  return draft.type === 'oauth2_client_credentials' ? { ...draft, scope: draft.scope ?? null } : draft;
}

export function completeWebFetchConfig(draft: Partial<WebFetchToolConfig>): WebFetchToolConfig {
  return {
    allow_domains: draft.allow_domains ?? [],
    deny_domains: draft.deny_domains ?? [],
    max_bytes: draft.max_bytes ?? 2 * 1024 * 1024,
    format: draft.format ?? 'markdown',
    robots: draft.robots ?? true,
    cache_s: draft.cache_s ?? 300,
  };
}

/** Input schemas that the kind fixes: what the model may send. */
export const webFetchInputSchema = {
  type: 'object',
  properties: {
    url: { type: 'string', maxLength: 2_048, description: 'The address to read, https' },
    offset: { type: 'integer', minimum: 0, description: 'Character of the text to go on from' },
  },
  required: ['url'],
  additionalProperties: false,
} as const;

export const builtinInputSchemas = {
  current_time: {
    type: 'object',
    properties: { timezone: { type: 'string', maxLength: 64, description: 'IANA time zone; UTC when left out' } },
    additionalProperties: false,
  },
  result_read: {
    type: 'object',
    properties: {
      call_id: { type: 'string', maxLength: 64, description: 'The tool call whose result was cut' },
      offset: { type: 'integer', minimum: 0, description: 'Character to go on from' },
    },
    required: ['call_id'],
    additionalProperties: false,
  },
  attachment_read: {
    type: 'object',
    properties: {
      attachment_id: { type: 'string', maxLength: 64, description: 'A file of this conversation' },
      offset: { type: 'integer', minimum: 0, description: 'Character of its text to go on from' },
    },
    required: ['attachment_id'],
    additionalProperties: false,
  },
  skill_load: skillLoadInputSchema,
  skill_write: skillWriteInputSchema,
  ask_user: askUserInputSchema,
} as const satisfies Record<BuiltinName, unknown>;

/** Arguments of an http tool whose author gave no schema: none. */
export const emptyInputSchema = { type: 'object', properties: {}, additionalProperties: false } as const;

/** What a builtin does to the world; no author can say otherwise. */
export const builtinEffects = {
  current_time: 'read',
  result_read: 'read',
  attachment_read: 'read',
  skill_load: 'read',
  skill_write: 'write',
  ask_user: 'read',
} as const satisfies Record<BuiltinName, 'read' | 'write'>;

/** Names of the secrets that a config uses; they belong to what the tool requires. */
export function secretsOfConfig(config: Readonly<Record<string, unknown>>): string[] {
  const { auth, secret } = config;
  const ofAuth: unknown = auth !== null && typeof auth === 'object' ? Reflect.get(auth, 'secret') : undefined;
  return [ofAuth, secret].filter((name) => typeof name === 'string');
}

export function effectOfMethod(method: HttpMethod): 'read' | 'write' {
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write';
}
