import type { KeyRing } from '../identity/keys/key-ring.ts';
import { row, rows } from '../sql.ts';
import { open } from '../tenancy/keys/envelope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { connectionBinding, type McpGrant } from './grant.ts';
import type { mcpConnectionStates } from './mcp-connection.entity.ts';

/** The principal as which a server is called: one shared by all users, or one user. */
export type McpPrincipal = { readonly kind: 'shared'; readonly id: null } | { readonly kind: 'user'; readonly id: string };

export const sharedPrincipal: McpPrincipal = { kind: 'shared', id: null };

export interface McpConnectionRow {
  readonly id: string;
  readonly toolkit_id: string;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly state: (typeof mcpConnectionStates)[number];
  readonly row_version: number;
  readonly grant_enc: Buffer | null;
  /** The access token is valid for at least 10 s, or does not expire. */
  readonly is_fresh: boolean;
}

const columns = `id, toolkit_id, organization_id, workspace_id, state, row_version, grant_enc,
  (expires_at is null or expires_at > now() + interval '10 seconds') as is_fresh`;

/** Returns the connection of a toolkit as a principal; read anew for each use, so that a revocation takes effect at the next one. */
export function findConnection(tx: TenantTransaction, toolkitId: string, principal: McpPrincipal): Promise<McpConnectionRow | null> {
  return row<McpConnectionRow>(
    tx.em,
    `select ${columns} from mcp_connections where toolkit_id = ? and principal_kind = ? and principal_id is not distinct from ?::uuid`,
    [toolkitId, principal.kind, principal.id],
  );
}

export async function readGrant(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'keks'>,
  connection: McpConnectionRow,
): Promise<McpGrant | null> {
  if (connection.grant_enc === null) return null;
  const text = await open(tx.em, keys, connectionBinding(connection.organization_id, connection.id), connection.grant_enc);
  return JSON.parse(text.toString()) as McpGrant; // written only by storeGrant
}

/** A connection as the status shows it. */
export interface McpConnectionFacts {
  readonly principal_kind: 'shared' | 'user';
  readonly principal_id: string | null;
  readonly state: McpConnectionRow['state'];
  readonly scopes: string[];
  readonly expires_at: Date | string | null;
  readonly last_error: string | null;
  readonly authorization_url: string | null;
}

/** Returns connections of a toolkit: the shared one and the user's own, or all of them with `everybody`. At most 200. */
export function listConnections(
  tx: TenantTransaction,
  toolkitId: string,
  of: { readonly userId: string | null; readonly everybody: boolean },
): Promise<McpConnectionFacts[]> {
  return rows<McpConnectionFacts>(
    tx.em,
    `select principal_kind, principal_id, state, scopes, expires_at, last_error, authorization_url from mcp_connections
      where toolkit_id = ? and (principal_kind = 'shared' or ?::boolean or principal_id = ?::uuid) order by principal_kind, id limit 200`,
    [toolkitId, of.everybody, of.userId],
  );
}
