import type { BodyMode, FieldForm, HttpParameter } from '../../workflows/contracts/tools/http-parameters.ts';

export const builtinNames = [
  'current_time',
  'result_read',
  'attachment_read',
  'skill_load',
  'skill_write',
  'knowledge_search',
  'knowledge_write',
  'ask_user',
] as const;
export type BuiltinName = (typeof builtinNames)[number];

export const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type HttpMethod = (typeof httpMethods)[number];

/** How a request is authenticated; `secret` is always the name of a secret. */
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

/** Config of kind http: the origin is literal, everything else is a Liquid template over the arguments. */
export interface HttpToolConfig {
  readonly method: HttpMethod;
  readonly url: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: HttpBody;
  /**
   * For an operation of an OpenAPI document: its arguments outside the body. With them only the body is a template: `url` has an argument's name in braces
   * where its parameter stands.
   */
  readonly parameters?: readonly HttpParameter[];
  readonly auth: HttpAuth;
  /** Where the result is in a JSON reply, and which statuses count as success (none: any 2xx). */
  readonly response: { readonly pointer: string | null; readonly success: readonly number[] };
  readonly idempotency_header: string | null;
  readonly redirects: number;
}

/** The body that is sent: `template` filled in, with its fields written as `fields` say. */
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
