import { sql } from 'kysely';
import { now } from '../expressions.ts';
import type { KeyRing } from '../key-ring.ts';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { change } from '../sql.ts';
import { encrypt } from '../envelope.ts';
import type { ToolkitScope } from '../toolkits/revisions.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { findConnection, type McpConnectionRow, type McpPrincipal } from './connection-queries.ts';
import { connectionBinding, type McpGrant } from './grant.ts';

/** A row at one version: a write with it has no effect once the row has been written otherwise. */
export type McpConnectionAt = Pick<McpConnectionRow, 'id' | 'rowVersion' | 'organizationId'>;

/** Returns the connection; creates it without a grant where there is none. */
export async function openConnection(tx: TenantTransaction, toolkit: ToolkitScope, principal: McpPrincipal): Promise<McpConnectionRow> {
  await change(
    tx.em,
    query
      .insertInto('mcp_connections')
      .values({
        id: newId(),
        toolkitId: toolkit.id,
        organizationId: toolkit.organizationId,
        workspaceId: toolkit.workspaceId,
        principalKind: principal.kind,
        principalId: principal.id,
        state: 'needs_auth',
        createdAt: now,
        updatedAt: now,
      })
      .onConflict((conflict) => conflict.doNothing()),
  );
  const made = await findConnection(tx, toolkit.id, principal);
  if (!made) throw new Error('A connection was made and is not visible');
  return made;
}

/** Takes the lease of a refresh at a version of the row; returns false while another holder's lease runs, or when the row has a newer version. */
export async function takeLeaseOfRefresh(tx: TenantTransaction, at: McpConnectionAt, seconds: number): Promise<boolean> {
  const taken = await change(
    tx.em,
    leaseAt(at)
      .set({ refreshUntil: sql<string>`now() + make_interval(secs => ${seconds}::int)` })
      .where(({ eb, or }) => or([eb('refreshUntil', 'is', null), eb('refreshUntil', '<=', now)])),
  );
  return taken === 1;
}

/** Ends the lease of a refresh, unless the row has a newer version. */
export async function dropLeaseOfRefresh(tx: TenantTransaction, at: McpConnectionAt): Promise<void> {
  await change(tx.em, leaseAt(at).set({ refreshUntil: null }));
}

/** The lease is no change of the connection: this keeps `updatedAt`, which an update would otherwise set. */
function leaseAt({ id, rowVersion }: McpConnectionAt) {
  return query
    .updateTable('mcp_connections')
    .set(({ ref }) => ({ updatedAt: ref('updatedAt') }))
    .where('id', '=', id)
    .where('rowVersion', '=', rowVersion);
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
  const envelope = await encrypt(tx.em, keys, connectionBinding(at.organizationId, at.id), Buffer.from(JSON.stringify(at.grant)));
  const stored = await change(
    tx.em,
    query
      .updateTable('mcp_connections')
      .set(({ eb }) => ({
        grantEnc: envelope,
        issuer: at.grant.at.issuer,
        ...(at.scopes === null ? {} : { scopes: [...at.scopes] }),
        expiresAt: sql<string | null>`now() + make_interval(secs => ${at.lifeS}::float8)`,
        state: 'healthy' as const,
        lastError: null,
        authorizationUrl: null,
        refreshUntil: null,
        rowVersion: eb('rowVersion', '+', 1),
        updatedAt: now,
      }))
      .where('id', '=', at.id)
      .where('rowVersion', '=', at.rowVersion),
  );
  return stored === 1;
}

/** Removes the grant from a row that still has this version, with the error that caused it. */
export async function clearGrant(tx: TenantTransaction, at: McpConnectionAt, error: string): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('mcp_connections')
      .set(({ eb }) => ({
        state: 'needs_auth' as const,
        grantEnc: null,
        expiresAt: null,
        lastError: error,
        refreshUntil: null,
        rowVersion: eb('rowVersion', '+', 1),
        updatedAt: now,
      }))
      .where('id', '=', at.id)
      .where('rowVersion', '=', at.rowVersion),
  );
}
