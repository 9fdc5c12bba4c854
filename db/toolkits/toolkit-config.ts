import type { HttpAuth } from '../tools/tool-config.ts';

/** How calls to an MCP server are authenticated; the values of `headers` are names of secrets. */
export type McpAuth =
  | { readonly type: 'none' }
  | { readonly type: 'bearer'; readonly secret: string }
  | { readonly type: 'headers'; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly type: 'oauth';
      /** One grant for all users, or one per user. */
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
  /** What a sync does with tools in force that have changed: quarantine them, or keep serving them. */
  readonly on_change: 'block' | 'keep';
  readonly sync_interval_s: number | null;
}

/** Config of a toolkit of kind openapi, complete. */
export interface OpenApiToolkitConfig {
  readonly base_url: string;
  readonly auth: HttpAuth;
}

export type ToolkitConfig = McpToolkitConfig | OpenApiToolkitConfig | Readonly<Record<string, never>>;
