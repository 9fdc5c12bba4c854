/** Kinds of tools that can be made; each has its own config. */
export const creatableToolKinds = ['http', 'web_fetch', 'builtin'] as const;

export const builtinNames = ['current_time', 'result_read'] as const;
export type BuiltinName = (typeof builtinNames)[number];

export const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type HttpMethod = (typeof httpMethods)[number];

/** Config of kind http: origin is literal, everything else is a Liquid template over the arguments. */
export interface HttpToolConfig {
  readonly method: HttpMethod;
  readonly url: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly mode: 'none' | 'json' | 'form' | 'raw'; readonly template: unknown };
  readonly auth: { readonly type: 'none' };
  /** Where in a JSON reply the result is, and which statuses count as success (none: any 2xx). */
  readonly response: { readonly pointer: string | null; readonly success: readonly number[] };
  readonly idempotency_header: string | null;
  readonly redirects: number;
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
  readonly body?: { readonly mode?: HttpToolConfig['body']['mode']; readonly template?: unknown };
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
    body: { mode: draft.body?.mode ?? 'none', template: draft.body?.template ?? null },
    auth: { type: 'none' },
    response: { pointer: draft.response?.pointer ?? null, success: draft.response?.success ?? [] },
    idempotency_header: draft.idempotency_header ?? null,
    redirects: draft.redirects ?? 0,
  };
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
} as const satisfies Record<BuiltinName, unknown>;

/** Arguments of an http tool whose author gave no schema: none. */
export const emptyInputSchema = { type: 'object', properties: {}, additionalProperties: false } as const;

export function effectOfMethod(method: HttpMethod): 'read' | 'write' {
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write';
}
