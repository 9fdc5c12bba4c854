import { newId } from '../ids.ts';
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
  const added = await row<ShownClient>(
    tx.em,
    `insert into oauth_clients as c (id, client_id, kind, client_name, redirect_uris, token_endpoint_auth_method, secret_hash, registration_hash,
       grant_types, scope, organization_id, workspace_id, role)
     values (?, ?, ?, ?, ?::text[], ?, ?, ?, ?::text[], ?, ?, ?, ?)
     returning ${clientColumns}`,
    [
      newId(),
      client.clientId,
      client.kind,
      client.clientName,
      [...client.redirectUris],
      client.tokenEndpointAuthMethod,
      client.secretHash ?? null,
      client.registrationHash ?? null,
      [...client.grantTypes],
      client.scope,
      client.organizationId ?? null,
      client.workspaceId ?? null,
      client.role ?? null,
    ],
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
  return row<ShownClient>(
    tx.em,
    `insert into oauth_clients as c (id, client_id, kind, client_name, redirect_uris, token_endpoint_auth_method, grant_types, scope, document,
       document_expires_at)
     values (?, ?, 'document', ?, ?::text[], 'none', ?::text[], ?, ?::jsonb, now() + make_interval(secs => ?))
     on conflict (client_id) do update set client_name = excluded.client_name, redirect_uris = excluded.redirect_uris,
       grant_types = excluded.grant_types, scope = excluded.scope, document = excluded.document,
       document_expires_at = excluded.document_expires_at, updated_at = now(), version = c.version + 1
     where c.kind = 'document' and c.deleted_at is null
     returning ${clientColumns}`,
    [
      newId(),
      client.clientId,
      client.clientName,
      [...client.redirectUris],
      [...client.grantTypes],
      client.scope,
      JSON.stringify(document),
      lifeSeconds,
    ],
  );
}

/** Replaces the secret: the old one is invalid at once, and so are tokens that the client got for itself with it. */
export async function replaceSecret(tx: TenantTransaction, id: string, secretHash: Buffer): Promise<ShownClient> {
  const changed = await row<ShownClient>(
    tx.em,
    `update oauth_clients c set secret_hash = ?, secret_rotated_at = clock_timestamp(), updated_at = now(), version = version + 1
     where c.id = ?::uuid returning ${clientColumns}`,
    [secretHash, id],
  );

  if (!changed) throw new Error('a locked client is gone');
  return changed;
}

/** Marks a client as deleted. Returns false when it already was. */
export async function deleteClient(tx: TenantTransaction, id: string): Promise<boolean> {
  const deleted = await change(
    tx.em,
    'update oauth_clients set deleted_at = now(), updated_at = now(), version = version + 1 where id = ?::uuid and deleted_at is null',
    [id],
  );
  return deleted > 0;
}
