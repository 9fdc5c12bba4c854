import type { KeyRing } from '../identity/key-ring.ts';
import { newId } from '../ids.ts';
import { change, row, rows } from '../sql.ts';
import { open, seal } from '../tenancy/envelope.ts';
import type { ToolkitHome } from '../toolkits/revisions.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { connectionBinding, type McpGrant } from './grant.ts';
import type { mcpConnectionStates } from './mcp-connection.entity.ts';

type Keks = Pick<KeyRing, 'keks'>;

/** As whom a server is called: everybody alike, or one user. */
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
  /** The access token has at least 10 s left, or no end. */
  readonly is_fresh: boolean;
}

/** A row at one version: whoever writes by it writes nothing once another has written. */
export type McpConnectionAt = Pick<McpConnectionRow, 'id' | 'row_version' | 'organization_id'>;

const columns = `id, toolkit_id, organization_id, workspace_id, state, row_version, grant_enc,
  (expires_at is null or expires_at > now() + interval '10 seconds') as is_fresh`;
const leaseFor = '15 seconds';

/** The connection of a toolkit as a principal; read anew at each use, so that what is revoked ends at the next one. */
export function findConnection(tx: TenantTransaction, toolkitId: string, principal: McpPrincipal): Promise<McpConnectionRow | null> {
  return row<McpConnectionRow>(
    tx.em,
    `select ${columns} from mcp_connections where toolkit_id = ? and principal_kind = ? and principal_id is not distinct from ?::uuid`,
    [toolkitId, principal.kind, principal.id],
  );
}

/** The connection, made without a grant where there is none. */
export async function openConnection(tx: TenantTransaction, toolkit: ToolkitHome, principal: McpPrincipal): Promise<McpConnectionRow> {
  await change(
    tx.em,
    `insert into mcp_connections (id, toolkit_id, organization_id, workspace_id, principal_kind, principal_id, state, created_at, updated_at)
     values (?, ?, ?, ?, ?, ?, 'needs_auth', now(), now()) on conflict do nothing`,
    [newId(), toolkit.id, toolkit.organizationId, toolkit.workspaceId, principal.kind, principal.id],
  );
  const made = await findConnection(tx, toolkit.id, principal);
  if (!made) throw new Error('A connection was made and is not visible');
  return made;
}

export async function readGrant(tx: TenantTransaction, keys: Keks, connection: McpConnectionRow): Promise<McpGrant | null> {
  if (connection.grant_enc === null) return null;
  const text = await open(tx.em, keys, connectionBinding(connection.organization_id, connection.id), connection.grant_enc);
  return JSON.parse(text.toString()) as McpGrant; // written by storeGrant alone
}

/** Takes the right to refresh for 15 s; false while another holds it, or when the row has moved on. */
export async function takeRefreshLease(tx: TenantTransaction, at: McpConnectionAt): Promise<boolean> {
  const taken = await change(
    tx.em,
    `update mcp_connections set refresh_until = now() + interval '${leaseFor}'
      where id = ? and row_version = ? and (refresh_until is null or refresh_until <= now())`,
    [at.id, at.row_version],
  );
  return taken === 1;
}

export async function dropRefreshLease(tx: TenantTransaction, at: McpConnectionAt): Promise<void> {
  await change(tx.em, 'update mcp_connections set refresh_until = null where id = ? and row_version = ?', [at.id, at.row_version]);
}

export interface FreshGrant {
  readonly grant: McpGrant;
  /** As granted; null: as before. */
  readonly scopes: readonly string[] | null;
  /** Life of the access token as its server told it; null: it told none. */
  readonly lifeS: number | null;
}

/** Keeps a grant, unless somebody has written the row meanwhile. */
export async function storeGrant(tx: TenantTransaction, keys: Keks, at: McpConnectionAt & FreshGrant): Promise<boolean> {
  const envelope = await seal(tx.em, keys, connectionBinding(at.organization_id, at.id), Buffer.from(JSON.stringify(at.grant)));
  const stored = await change(
    tx.em,
    `update mcp_connections set grant_enc = ?, issuer = ?, scopes = coalesce(?::text[], scopes), expires_at = now() + make_interval(secs => ?::float8),
       state = 'healthy', last_error = null, authorization_url = null, refresh_until = null, row_version = row_version + 1, updated_at = now()
      where id = ? and row_version = ?`,
    [envelope, at.grant.at.issuer, at.scopes === null ? null : [...at.scopes], at.lifeS, at.id, at.row_version],
  );
  return stored === 1;
}

/** The server takes the grant no more: only while the row still holds what was sent. A grant that nobody takes is not kept. */
export async function refuseGrant(tx: TenantTransaction, at: McpConnectionAt, error: string): Promise<void> {
  await change(
    tx.em,
    `update mcp_connections set state = 'needs_auth', grant_enc = null, expires_at = null, last_error = ?, refresh_until = null,
       row_version = row_version + 1, updated_at = now() where id = ? and row_version = ?`,
    [error.slice(0, 500), at.id, at.row_version],
  );
}

/** Forgets every grant of a toolkit: its server or its credentials are others now, and tokens go to their issuer only. */
export async function forgetConnections(tx: TenantTransaction, toolkitId: string): Promise<void> {
  await change(tx.em, 'delete from mcp_authorizations where connection_id in (select id from mcp_connections where toolkit_id = ?)', [
    toolkitId,
  ]);
  await change(tx.em, 'delete from mcp_connections where toolkit_id = ?', [toolkitId]);
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

/** Connections of a toolkit: the shared one and the user's own; all of them for `everybody`. At most 200. */
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
