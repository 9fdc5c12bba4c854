import type { Binding } from '../envelope.ts';

/** An authorization server, as its metadata named it when consent was requested; client and tokens are sent nowhere else. */
export interface McpIssuer {
  readonly issuer: string;
  /** RFC 8414 metadata, as far as tokens need it. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** RFC 8707 resource indicator, verbatim; null: the server named none. */
  readonly resource: string | null;
}

export interface McpOauthClient {
  readonly client_id: string;
  readonly client_secret?: string | undefined;
}

/** What a connection holds, encrypted as one value. */
export interface McpGrant {
  readonly at: McpIssuer;
  readonly client: McpOauthClient;
  readonly accessToken: string;
  readonly refreshToken: string | null;
}

/** What a pending consent holds, encrypted as one value; `code` is set once it has come back. */
export interface McpConsent {
  readonly at: McpIssuer;
  readonly client: McpOauthClient;
  readonly verifier: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly code: string | null;
}

export function connectionBinding(organizationId: string | null, id: string): Binding {
  return { organizationId, aad: ['mcp_connections', id] };
}

export function authorizationBinding(organizationId: string | null, stateHash: string): Binding {
  return { organizationId, aad: ['mcp_authorizations', stateHash] };
}
