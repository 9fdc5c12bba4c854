import { sql } from 'kysely';
import { now } from '../expressions.ts';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { OauthClient } from './oauth-client.entity.ts';
import { clientColumns, type OauthClientKind, type ShownClient } from './clients.ts';

/** A client to be stored; digests only. */
export interface NewClient {
  readonly clientId: string;
  readonly kind: OauthClientKind;
  readonly clientName: string;
  readonly redirectUris: readonly string[];
  readonly tokenEndpointAuthMethod: OauthClient['tokenEndpointAuthMethod'];
  readonly grantTypes: readonly string[];
  readonly scope: string | null;
  readonly secretHash?: Buffer | null;
  readonly registrationHash?: Buffer | null;
  readonly organizationId?: string | null;
  readonly workspaceId?: string | null;
  readonly role?: OauthClient['role'];
}

/** Stores a client and returns what views show of it. */
export async function addClient(tx: TenantTransaction, client: NewClient): Promise<ShownClient> {
  const added = await row(
    tx.em,
    query
      .insertInto('oauth_clients')
      .values({
        id: newId(),
        clientId: client.clientId,
        kind: client.kind,
        clientName: client.clientName,
        redirectUris: [...client.redirectUris],
        tokenEndpointAuthMethod: client.tokenEndpointAuthMethod,
        secretHash: client.secretHash ?? null,
        registrationHash: client.registrationHash ?? null,
        grantTypes: [...client.grantTypes],
        scope: client.scope,
        organizationId: client.organizationId ?? null,
        workspaceId: client.workspaceId ?? null,
        role: client.role ?? null,
      })
      .returning(clientColumns),
  );

  if (!added) throw new Error('a client was not stored');
  return added;
}

/**
 * Stores what a metadata document said, and until when it is valid without being fetched again. A client that an operator has deleted stays deleted, and null
 * is returned.
 */
export async function storeDocument(
  tx: TenantTransaction,
  client: NewClient,
  { document, lifeSeconds }: { document: Readonly<Record<string, unknown>>; lifeSeconds: number },
): Promise<ShownClient | null> {
  return row(
    tx.em,
    query
      .insertInto('oauth_clients')
      .values({
        id: newId(),
        clientId: client.clientId,
        kind: 'document',
        clientName: client.clientName,
        redirectUris: [...client.redirectUris],
        tokenEndpointAuthMethod: 'none',
        grantTypes: [...client.grantTypes],
        scope: client.scope,
        document,
        documentExpiresAt: sql<string>`now() + make_interval(secs => ${lifeSeconds})`,
      })
      .onConflict((conflict) =>
        conflict
          .column('clientId')
          .doUpdateSet(({ eb, ref }) => ({
            clientName: ref('excluded.clientName'),
            redirectUris: ref('excluded.redirectUris'),
            grantTypes: ref('excluded.grantTypes'),
            scope: ref('excluded.scope'),
            document: ref('excluded.document'),
            documentExpiresAt: ref('excluded.documentExpiresAt'),
            updatedAt: now,
            version: eb('oauth_clients.version', '+', 1),
          }))
          .where('oauth_clients.kind', '=', 'document')
          .where('oauth_clients.deletedAt', 'is', null),
      )
      .returning(clientColumns),
  );
}

/** Replaces the secret: the old one is invalid at once, and so are tokens that the client got for itself with it. */
export async function replaceSecret(tx: TenantTransaction, id: string, secretHash: Buffer): Promise<ShownClient> {
  const changed = await row(
    tx.em,
    query
      .updateTable('oauth_clients')
      .set(({ eb }) => ({
        secretHash,
        secretRotatedAt: sql<string>`clock_timestamp()`,
        updatedAt: now,
        version: eb('version', '+', 1),
      }))
      .where('id', '=', id)
      .returning(clientColumns),
  );

  if (!changed) throw new Error('a locked client is gone');
  return changed;
}

/** Marks a client as deleted. Returns false when it already was. */
export async function deleteClient(tx: TenantTransaction, id: string): Promise<boolean> {
  const deleted = await change(
    tx.em,
    query
      .updateTable('oauth_clients')
      .set(({ eb }) => ({ deletedAt: now, updatedAt: now, version: eb('version', '+', 1) }))
      .where('id', '=', id)
      .where('deletedAt', 'is', null),
  );
  return deleted > 0;
}
