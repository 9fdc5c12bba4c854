import { completeHttpAuth, type HttpAuth, type HttpAuthDraft } from '../tools/tool-config.ts';

/** How an MCP server is told who calls; the values of `headers` are names of secrets. */
export type McpAuth =
  | { readonly type: 'none' }
  | { readonly type: 'bearer'; readonly secret: string }
  | { readonly type: 'headers'; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly type: 'oauth';
      /** One grant for all, or one of each user. */
      readonly mode: 'shared' | 'per_user';
      readonly scopes: readonly string[];
      /** A client registered beforehand; null registers one. */
      readonly client_id: string | null;
    };

export const mcpTransports = ['auto', 'http', 'sse'] as const;

/** Config of a toolkit of kind mcp, complete. */
export interface McpToolkitConfig {
  readonly url: string;
  readonly transport: (typeof mcpTransports)[number];
  readonly auth: McpAuth;
  /** What a sync does with tools in force that it finds changed: take them out of service, or serve on. */
  readonly on_change: 'block' | 'keep';
  readonly sync_interval_s: number | null;
}

/** Config of a toolkit of kind openapi, complete. */
export interface OpenApiToolkitConfig {
  readonly base_url: string;
  readonly auth: HttpAuth;
}

export type ToolkitConfig = McpToolkitConfig | OpenApiToolkitConfig | Readonly<Record<string, never>>;

export type McpAuthDraft =
  | Exclude<McpAuth, { type: 'oauth' }>
  | (Partial<Extract<McpAuth, { type: 'oauth' }>> & { readonly type: 'oauth' });

export type McpConfigDraft = Pick<McpToolkitConfig, 'url'> &
  Partial<Omit<McpToolkitConfig, 'url' | 'auth'>> & { readonly auth?: McpAuthDraft };
export type OpenApiConfigDraft = Pick<OpenApiToolkitConfig, 'base_url'> & { readonly auth?: HttpAuthDraft };

export function completeMcpConfig(draft: McpConfigDraft): McpToolkitConfig {
  return {
    url: draft.url,
    transport: draft.transport ?? 'auto',
    auth: completeMcpAuth(draft.auth ?? { type: 'none' }),
    on_change: draft.on_change ?? 'block',
    sync_interval_s: draft.sync_interval_s ?? null,
  };
}

/** The base address ends without a slash: paths of a document begin with one. */
export function completeOpenApiConfig(draft: OpenApiConfigDraft): OpenApiToolkitConfig {
  return { base_url: draft.base_url.replace(/\/+$/, ''), auth: completeHttpAuth(draft.auth ?? { type: 'none' }) };
}

function completeMcpAuth(draft: McpAuthDraft): McpAuth {
  if (draft.type !== 'oauth') return draft;
  return { type: 'oauth', mode: draft.mode ?? 'shared', scopes: draft.scopes ?? [], client_id: draft.client_id ?? null };
}

/** Names of the secrets that a config's `auth` needs, without repeats. */
export function secretsOfAuth(config: Readonly<Record<string, unknown>>): string[] {
  const auth = config['auth'];
  if (auth === null || typeof auth !== 'object') return [];
  const named: unknown[] = [Reflect.get(auth, 'secret')];
  const headers: unknown = Reflect.get(auth, 'headers');
  if (headers !== null && typeof headers === 'object') named.push(...Object.values(headers));
  return [...new Set(named.filter((name) => typeof name === 'string'))];
}
