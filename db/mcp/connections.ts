import type { KeyRing } from '../identity/keys/key-ring.ts';
import { newId } from '../ids.ts';
import { change } from '../sql.ts';
import { seal } from '../tenancy/keys/envelope.ts';
import type { ToolkitScope } from '../toolkits/revisions.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { findConnection, type McpConnectionRow, type McpPrincipal } from './connection-queries.ts';
import { connectionBinding, type McpGrant } from './grant.ts';

/** A row at one version: a write with it has no effect once the row has been written otherwise. */
export type McpConnectionAt = Pick<McpConnectionRow, 'id' | 'row_version' | 'organization_id'>;

/** Returns the connection; creates it without a grant where there is none. */
export async function openConnection(tx: TenantTransaction, toolkit: ToolkitScope, principal: McpPrincipal): Promise<McpConnectionRow> {
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

/** Takes the lease of a refresh at a version of the row; returns false while another holder's lease runs, or when the row has a newer version. */
export async function takeLeaseOfRefresh(tx: TenantTransaction, at: McpConnectionAt, seconds: number): Promise<boolean> {
  const taken = await change(
    tx.em,
    `update mcp_connections set refresh_until = now() + make_interval(secs => ?::int)
      where id = ? and row_version = ? and (refresh_until is null or refresh_until <= now())`,
    [seconds, at.id, at.row_version],
  );
  return taken === 1;
}

/** Ends the lease of a refresh, unless the row has a newer version. */
export async function dropLeaseOfRefresh(tx: TenantTransaction, at: McpConnectionAt): Promise<void> {
  await change(tx.em, 'update mcp_connections set refresh_until = null where id = ? and row_version = ?', [at.id, at.row_version]);
}

export interface FreshGrant {
  readonly grant: McpGrant;
  /** As granted; null: unchanged. */
  readonly scopes: readonly string[] | null;
  /** Lifetime of the access token in seconds as its server stated it; null: it stated none. */
  readonly lifeS: number | null;
}

/** Stores a grant, unless the row was written meanwhile. */
export async function storeGrant(tx: TenantTransaction, keys: Pick<KeyRing, 'keks'>, at: McpConnectionAt & FreshGrant): Promise<boolean> {
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

/** Removes the grant from a row that still has this version, with the error that caused it. */
export async function clearGrant(tx: TenantTransaction, at: McpConnectionAt, error: string): Promise<void> {
  await change(
    tx.em,
    `update mcp_connections set state = 'needs_auth', grant_enc = null, expires_at = null, last_error = ?, refresh_until = null,
       row_version = row_version + 1, updated_at = now() where id = ? and row_version = ?`,
    [error, at.id, at.row_version],
  );
}

/** Deletes every grant of a toolkit: its server or its credentials have changed, and tokens go to their issuer only. */
export async function forgetConnections(tx: TenantTransaction, toolkitId: string): Promise<void> {
  await change(tx.em, 'delete from mcp_authorizations where connection_id in (select id from mcp_connections where toolkit_id = ?)', [
    toolkitId,
  ]);
  await change(tx.em, 'delete from mcp_connections where toolkit_id = ?', [toolkitId]);
}
