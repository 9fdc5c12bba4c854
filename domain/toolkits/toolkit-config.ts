import type { McpAuth, McpToolkitConfig, OpenApiToolkitConfig } from '../../db/toolkits/toolkit-config.ts';
import { completeHttpAuth, type HttpAuthDraft } from '../tools/tool-config.ts';

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

/** The base address is stored without a final slash: paths of a document begin with one. */
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
