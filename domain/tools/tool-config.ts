import {
  skillLoadInputSchema,
  knowledgeSearchInputSchema,
  knowledgeWriteInputSchema,
  skillWriteInputSchema,
} from '../../db/tools/builtin-schemas.ts';
import type { BuiltinName, HttpAuth, HttpBody, HttpMethod, HttpToolConfig, WebFetchToolConfig } from '../../db/tools/tool-config.ts';
import { askUserInputSchema } from '../../workflows/contracts/runs/ask-user.ts';

/** Kinds of tools that an author creates; those of kind remote_protocol come with their toolkit. */
export const creatableToolKinds = ['http', 'builtin', 'code_exec', 'web_search', 'web_fetch', 'delegate', 'schedule'] as const;
export type CreatableToolKind = (typeof creatableToolKinds)[number];

/** As an author sends it: the scope may be omitted. */
export type HttpAuthDraft =
  | Exclude<HttpAuth, { readonly type: 'oauth2_client_credentials' }>
  | (Omit<Extract<HttpAuth, { readonly type: 'oauth2_client_credentials' }>, 'scope'> & { readonly scope?: string | null });

/** A config as an author sends it; `completeHttpConfig` and its siblings return the stored form. */
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
  knowledge_search: knowledgeSearchInputSchema,
  knowledge_write: knowledgeWriteInputSchema,
  ask_user: askUserInputSchema,
} as const satisfies Record<BuiltinName, unknown>;

/** Arguments of an http tool without a schema from its author: none. */
export const emptyInputSchema = { type: 'object', properties: {}, additionalProperties: false } as const;

/** The effect of a builtin, which no author can change. */
export const builtinEffects = {
  current_time: 'read',
  result_read: 'read',
  attachment_read: 'read',
  skill_load: 'read',
  skill_write: 'write',
  knowledge_search: 'read',
  knowledge_write: 'write',
  ask_user: 'read',
} as const satisfies Record<BuiltinName, 'read' | 'write'>;

/** Names of the secrets that a config uses; the tool requires them. */
export function secretsOfConfig(config: Readonly<Record<string, unknown>>): string[] {
  const { auth, secret } = config;
  const ofAuth: unknown = auth !== null && typeof auth === 'object' ? Reflect.get(auth, 'secret') : undefined;
  return [ofAuth, secret].filter((name) => typeof name === 'string');
}

export function effectOfMethod(method: HttpMethod): 'read' | 'write' {
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write';
}
