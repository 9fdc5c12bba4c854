import { McpError } from '../../ports/mcp/errors.ts';
import type { McpSessions } from '../../ports/mcp/sessions.ts';
import type { McpPatience, McpSession } from '../../ports/mcp/mcp.ts';
import { credentialOf, renewedCredential, type CredentialDeps, type McpAsker, type McpCredential } from './credentials.ts';

export interface McpDeps extends CredentialDeps {
  readonly mcp: McpSessions;
}

export interface McpAsk extends McpAsker {
  /** The workspace for which it works: secrets of an organization's toolkit may differ from workspace to workspace. */
  readonly workspaceId: string | null;
  readonly timeoutMs: number;
  readonly onToolsChanged?: () => void;
}

/**
 * Works with the client of a toolkit as a principal, for both calls and syncs. Credentials are read from the rows at each use; a 401 on a token refreshes it
 * once and repeats the request, since nothing was processed. Throws McpError, McpTooMuch or the guard's errors.
 */
export async function useMcp<R>(
  deps: McpDeps,
  ask: McpAsk,
  work: (mcpSession: McpSession, patience: McpPatience) => Promise<R>,
): Promise<R> {
  const credential = await credentialOf(deps, ask);
  try {
    return await withCredential(deps, ask, { credential, work });
  } catch (error) {
    if (!(error instanceof McpError) || error.kind !== 'unauthorized' || credential.version === null) throw error;
    const renewed = await renewedCredential(deps, ask, credential).catch((refusal: unknown) => {
      // The server's own challenge says where to get consent.
      throw refusal instanceof McpError && refusal.kind === 'unauthorized' ? error : refusal;
    });
    return withCredential(deps, ask, { credential: renewed, work });
  }
}

/** Does the same without any credential, to get the server's challenge. */
export function asNobody<R>(deps: McpDeps, ask: McpAsk, work: (mcpSession: McpSession, patience: McpPatience) => Promise<R>): Promise<R> {
  return withCredential(deps, ask, { credential: { headers: {}, version: null }, work });
}

function withCredential<R>(
  { mcp }: McpDeps,
  { toolkit, principal, policy, workspaceId, timeoutMs, signal, onToolsChanged }: McpAsk,
  {
    credential,
    work,
  }: { readonly credential: McpCredential; readonly work: (mcpSession: McpSession, patience: McpPatience) => Promise<R> },
): Promise<R> {
  const { url, transport } = toolkit.config;
  return mcp.use(
    {
      key: [toolkit.id, workspaceId, principal.kind, principal.id].join(':'),
      target: { url, transport, policy },
      headers: credential.headers,
      timeoutMs,
      signal,
      ...(onToolsChanged ? { onToolsChanged } : {}),
    },
    work,
  );
}
