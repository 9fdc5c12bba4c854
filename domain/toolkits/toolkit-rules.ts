import { isDeepStrictEqual } from 'node:util';
import type { ToolkitConfig } from '../../db/toolkits/toolkit-config.ts';
import type { ToolkitKind } from '../../db/toolkits/toolkit.entity.ts';
import { isReservedHeader, refusalOfUrl, type EgressPolicy } from '../../ports/egress/url.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { escapePointer } from '../../workflows/contracts/tools/json-pointer.ts';
import { checkAuth } from '../tools/http-rules.ts';
import { completeMcpConfig, completeOpenApiConfig, type McpConfigDraft, type OpenApiConfigDraft } from './toolkit-config.ts';

/** Returns the stored form of a toolkit's config. Throws 422 for an address or header that the egress guard would refuse. */
export function toolkitConfigOf(kind: ToolkitKind, config: Readonly<Record<string, unknown>>, policy: EgressPolicy): ToolkitConfig {
  switch (kind) {
    case 'mcp': {
      // The schema of the request has checked the config against its kind, here and below.
      const complete = completeMcpConfig(config as unknown as McpConfigDraft);
      checkAddress('/config/url', complete.url, policy);
      if (complete.auth.type === 'headers') refuseReserved(complete.auth.headers);
      return complete;
    }
    case 'openapi': {
      const complete = completeOpenApiConfig(config as unknown as OpenApiConfigDraft);
      const { search, hash } = checkAddress('/config/base_url', complete.base_url, policy);
      if (search !== '' || hash !== '') throw invalid('/config/base_url', 'format', 'The base address must not have a query or fragment.');
      checkAuth(complete.auth, policy);
      return complete;
    }
    case 'manual':
      return {};
    default:
      return kind satisfies never;
  }
}

/** Whether calls now go to another server, or with other credentials, than approved: the tools then wait for a new approval. */
export function isAnotherServer(before: Readonly<Record<string, unknown>>, after: ToolkitConfig): boolean {
  return ['url', 'base_url', 'transport', 'auth'].some((field) => !isDeepStrictEqual(before[field], Reflect.get(after, field)));
}

/** When an MCP server is next synced on schedule; null for never. */
export function nextSyncOf(config: ToolkitConfig, now: Date): Date | null {
  const interval: unknown = Reflect.get(config, 'sync_interval_s');
  return typeof interval === 'number' ? new Date(now.getTime() + interval * 1_000) : null;
}

function checkAddress(pointer: string, url: string, policy: EgressPolicy): URL {
  if (/[\s{}]/.test(url)) throw invalid(pointer, 'format', 'The address must be a literal URL.');
  const refusal = refusalOfUrl(url, policy);
  if (refusal !== null) throw invalid(pointer, 'egress', `The URL is not allowed: ${refusal}`);
  return new URL(url);
}

function refuseReserved(headers: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(headers)) {
    const isOurs = isReservedHeader(name) || name.toLowerCase().startsWith('mcp-');
    if (isOurs) throw invalid(`/config/auth/headers/${escapePointer(name)}`, 'egress', 'A toolkit cannot set this header.');
  }
}
