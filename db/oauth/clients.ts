import { randomBytes } from 'node:crypto';
import type { Page, PageRequest } from '../page.ts';
import { fetchPage, holdsText } from '../page-query.ts';
import { newId } from '../ids.ts';
import { ownTo, type Scoped } from '../scope.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { OauthClient, type oauthClientKinds } from './oauth-client.entity.ts';

export type OauthClientKind = (typeof oauthClientKinds)[number];

/** A client as views show one. */
export interface ShownClient {
  readonly id: string;
  readonly clientId: string;
  readonly kind: OauthClientKind;
  readonly clientName: string;
  readonly redirectUris: readonly string[];
  readonly tokenEndpointAuthMethod: OauthClient['tokenEndpointAuthMethod'];
  readonly grantTypes: readonly string[];
  readonly scope: string | null;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly role: OauthClient['role'];
  readonly createdAt: Date | string;
  readonly updatedAt: Date | string;
  readonly lastUsedAt: Date | string | null;
  readonly secretRotatedAt: Date | string | null;
}

/** A client that is to be stored; digests only. */
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

const columns = `c.id, c.client_id as "clientId", c.kind, c.client_name as "clientName", c.redirect_uris as "redirectUris",
  c.token_endpoint_auth_method as "tokenEndpointAuthMethod", c.grant_types as "grantTypes", c.scope, c.organization_id as "organizationId",
  c.workspace_id as "workspaceId", c.role, c.created_at as "createdAt", c.updated_at as "updatedAt", c.last_used_at as "lastUsedAt",
  c.secret_rotated_at as "secretRotatedAt"`;

/** A new public name of a client: `lh_oc_` and 128 random bits. */
export function newClientId(): string {
  return `lh_oc_${randomBytes(16).toString('base64url')}`;
}

/** Stores a client and gives what views show of it. */
export async function addClient(tx: TenantTransaction, client: NewClient): Promise<ShownClient> {
  const added = await row<ShownClient>(
    tx.em,
    `insert into oauth_clients as c (id, client_id, kind, client_name, redirect_uris, token_endpoint_auth_method, secret_hash, registration_hash,
       grant_types, scope, organization_id, workspace_id, role)
     values (?, ?, ?, ?, ?::text[], ?, ?, ?, ?::text[], ?, ?, ?, ?)
     returning ${columns}`,
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
 * Stores what a metadata document said, until when it may be believed without asking again. One that an operator has deleted stays so, and
 * gives null.
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
     returning ${columns}`,
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

/** The clients that an operator sees, newest first: narrowed by X-View-*, those of the view alone. */
export async function listClients(
  ctx: Scoped,
  { filters, page }: { filters: { readonly q?: string; readonly kind?: OauthClientKind }; page: PageRequest },
): Promise<Page<ShownClient>> {
  const visible = ownTo(ctx, OauthClient, 'c');
  const where = [visible.sql, 'c.deleted_at is null'];
  const params: unknown[] = [...visible.params];

  if (filters.q !== undefined) {
    where.push(`(${holdsText('c.client_name')} or ${holdsText('c.client_id')})`);
    params.push(filters.q, filters.q);
  }
  if (filters.kind !== undefined) {
    where.push('c.kind = ?');
    params.push(filters.kind);
  }
  return fetchPage<ShownClient>(ctx.em, {
    select: columns,
    from: 'oauth_clients c',
    where: where.join(' and '),
    params,
    order: [{ column: 'c.id', type: 'uuid', descending: true }],
    page,
  });
}

/** Loads a client by its public name and locks it; null when the caller sees none, or it is deleted. */
export async function lockClient(ctx: Scoped, clientId: string): Promise<ShownClient | null> {
  const visible = ownTo(ctx, OauthClient, 'c');

  return row<ShownClient>(
    ctx.em,
    `select ${columns} from oauth_clients c where c.client_id = ? and c.deleted_at is null and ${visible.sql} for no key update`,
    [clientId, ...visible.params],
  );
}

/** Overwrites the secret: the old one is dead at once, and so are tokens that the client got for itself with it. */
export async function replaceSecret(tx: TenantTransaction, id: string, secretHash: Buffer): Promise<ShownClient> {
  const changed = await row<ShownClient>(
    tx.em,
    `update oauth_clients c set secret_hash = ?, secret_rotated_at = clock_timestamp(), updated_at = now(), version = version + 1
     where c.id = ?::uuid returning ${columns}`,
    [secretHash, id],
  );

  if (!changed) throw new Error('a locked client is gone');
  return changed;
}

/** Marks a client as deleted. False when it was before. */
export async function deleteClient(tx: TenantTransaction, id: string): Promise<boolean> {
  const deleted = await change(
    tx.em,
    'update oauth_clients set deleted_at = now(), updated_at = now(), version = version + 1 where id = ?::uuid and deleted_at is null',
    [id],
  );
  return deleted > 0;
}
