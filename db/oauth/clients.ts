import { randomBytes } from 'node:crypto';
import type { Page, PageRequest } from '../page.ts';
import { fetchPage, holdsText } from '../page-query.ts';
import { ownTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { OauthClient, type oauthClientKinds } from './oauth-client.entity.ts';

export type OauthClientKind = (typeof oauthClientKinds)[number];

/** A client as views show it. */
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

export const clientColumns = `c.id, c.client_id as "clientId", c.kind, c.client_name as "clientName", c.redirect_uris as "redirectUris",
  c.token_endpoint_auth_method as "tokenEndpointAuthMethod", c.grant_types as "grantTypes", c.scope, c.organization_id as "organizationId",
  c.workspace_id as "workspaceId", c.role, c.created_at as "createdAt", c.updated_at as "updatedAt", c.last_used_at as "lastUsedAt",
  c.secret_rotated_at as "secretRotatedAt"`;

/** Returns a new public client id: `lh_oc_` and 128 random bits. */
export function newClientId(): string {
  return `lh_oc_${randomBytes(16).toString('base64url')}`;
}

/** Returns the clients that an operator sees, newest first; with X-View-*, only those of the view. */
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
    select: clientColumns,
    from: 'oauth_clients c',
    where: where.join(' and '),
    params,
    order: [{ column: 'c.id', type: 'uuid', descending: true }],
    page,
  });
}

/** Loads a client by its client id and locks it; returns null when the caller sees none, or it is deleted. */
export async function lockClient(ctx: Scoped, clientId: string): Promise<ShownClient | null> {
  const visible = ownTo(ctx, OauthClient, 'c');

  return row<ShownClient>(
    ctx.em,
    `select ${clientColumns} from oauth_clients c where c.client_id = ? and c.deleted_at is null and ${visible.sql} for no key update`,
    [clientId, ...visible.params],
  );
}
