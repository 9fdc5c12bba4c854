import { isDeepStrictEqual } from 'node:util';
import { readEgressAllowlist } from '../../db/tenancy/egress-policy.ts';
import {
  completeMcpConfig,
  completeOpenApiConfig,
  type McpConfigDraft,
  type OpenApiConfigDraft,
  type ToolkitConfig,
} from '../../db/toolkits/toolkit-config.ts';
import type { ToolkitKind } from '../../db/toolkits/toolkit.entity.ts';
import { checkUrlForm, EgressRefused, isReservedHeader, type EgressPolicy } from '../../ports/egress.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import type { Ctx } from '../http/operation.ts';
import { escapePointer } from '../http/text-scan.ts';
import { checkAuth } from './http-rules.ts';

/** The config of a toolkit as it is stored. Throws 422 for an address or header that the egress guard would not let out. */
export async function toolkitConfigOf(
  ctx: Ctx,
  { kind, config, organizationId }: { kind: ToolkitKind; config: Readonly<Record<string, unknown>>; organizationId: string | null },
): Promise<ToolkitConfig> {
  const policy = { allowHttp: ctx.deps.env.allowHttp, exceptions: await readEgressAllowlist(ctx, organizationId) };
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
      if (search !== '' || hash !== '') throw invalid('/config/base_url', 'format', 'The base address has no query and no fragment.');
      checkAuth(complete.auth, policy);
      return complete;
    }
    case 'manual':
      return {};
    default:
      return kind satisfies never;
  }
}

/** Whether calls go elsewhere, or as somebody else, than was approved: the tools wait for a new approval then. */
export function isAnotherServer(before: Readonly<Record<string, unknown>>, after: ToolkitConfig): boolean {
  return ['url', 'base_url', 'transport', 'auth'].some((field) => !isDeepStrictEqual(before[field], Reflect.get(after, field)));
}

/** When a schedule looks at an MCP server next; null for none. */
export function nextSyncOf(config: ToolkitConfig, now: Date): Date | null {
  const interval: unknown = Reflect.get(config, 'sync_interval_s');
  return typeof interval === 'number' ? new Date(now.getTime() + interval * 1_000) : null;
}

function checkAddress(pointer: string, url: string, policy: EgressPolicy): URL {
  if (/[\s{}]/.test(url)) throw invalid(pointer, 'format', 'The address is a literal URL.');
  try {
    return checkUrlForm(url, policy);
  } catch (error) {
    if (error instanceof EgressRefused) throw invalid(pointer, 'egress', `The URL is refused: ${error.message}`);
    throw error;
  }
}

function refuseReserved(headers: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(headers)) {
    const isOurs = isReservedHeader(name) || name.toLowerCase().startsWith('mcp-');
    if (isOurs) throw invalid(`/config/auth/headers/${escapePointer(name)}`, 'egress', 'This header can not be set by a toolkit.');
  }
}
