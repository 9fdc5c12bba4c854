import { sql } from 'kysely';
import type { KeyRing } from '../key-ring.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import { decrypt } from '../envelope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { connectionBinding, type McpGrant } from './grant.ts';

/** The principal as which a server is called: one shared by all users, or one user. */
export type McpPrincipal = { readonly kind: 'shared'; readonly id: null } | { readonly kind: 'user'; readonly id: string };

export const sharedPrincipal: McpPrincipal = { kind: 'shared', id: null };

export type McpConnectionRow = NonNullable<Awaited<ReturnType<typeof findConnection>>>;

const connectionOf = prepared(
  ({
    toolkitId,
    kind,
    id,
  }: ParametersOf<{ readonly toolkitId: string; readonly kind: McpPrincipal['kind']; readonly id: string | null }>) =>
    query
      .selectFrom('mcp_connections as c')
      .select(['c.id', 'c.toolkitId', 'c.organizationId', 'c.workspaceId', 'c.state', 'c.rowVersion', 'c.grantEnc'])
      // The access token is valid for at least 10 s, or does not expire.
      .select(({ eb, or }) =>
        or([eb('c.expiresAt', 'is', null), eb('c.expiresAt', '>', sql<string>`now() + interval '10 seconds'`)])
          .$castTo<boolean>()
          .as('isFresh'),
      )
      .where('c.toolkitId', '=', toolkitId)
      .where('c.principalKind', '=', kind)
      .where('c.principalId', 'is not distinct from', id),
);

/** Returns the connection of a toolkit as a principal; read anew for each use, so that a revocation takes effect at the next one. */
export async function findConnection(tx: TenantTransaction, toolkitId: string, { kind, id }: McpPrincipal) {
  return row(tx.em, connectionOf({ toolkitId, kind, id }));
}

export async function readGrant(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'keks'>,
  connection: McpConnectionRow,
): Promise<McpGrant | null> {
  if (connection.grantEnc === null) return null;
  const text = await decrypt(tx.em, keys, connectionBinding(connection.organizationId, connection.id), connection.grantEnc);
  return JSON.parse(text.toString()) as McpGrant; // written only by storeGrant
}

/** A connection as the status shows it. */
export type McpConnectionFacts = Awaited<ReturnType<typeof listConnections>>[number];

/** Returns connections of a toolkit: the shared one and the user's own, or all of them with `everybody`. At most 200. */
export async function listConnections(
  tx: TenantTransaction,
  toolkitId: string,
  { userId, everybody }: { readonly userId: string | null; readonly everybody: boolean },
) {
  return rows(
    tx.em,
    query
      .selectFrom('mcp_connections as c')
      .select(['c.principalKind', 'c.principalId', 'c.state', 'c.scopes', 'c.expiresAt', 'c.lastError', 'c.authorizationUrl'])
      .where('c.toolkitId', '=', toolkitId)
      .where(({ eb, lit, or }) => or([eb('c.principalKind', '=', 'shared'), lit(everybody), eb('c.principalId', '=', userId)]))
      .orderBy('c.principalKind')
      .orderBy('c.id')
      .limit(200),
  );
}
