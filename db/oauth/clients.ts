import { randomBytes } from 'node:crypto';
import type { Condition } from '../condition.ts';
import type { PageRequest } from '../page.ts';
import { contains, preparedList } from '../page-query.ts';
import type { ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { ownTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { OauthClient, type oauthClientKinds } from './oauth-client.entity.ts';

export type OauthClientKind = (typeof oauthClientKinds)[number];

/** A client as views show it. */
export type ShownClient = NonNullable<Awaited<ReturnType<typeof lockClient>>>;

export const clientColumns = [
  'id',
  'clientId',
  'kind',
  'clientName',
  'redirectUris',
  'tokenEndpointAuthMethod',
  'grantTypes',
  'scope',
  'organizationId',
  'workspaceId',
  'role',
  'createdAt',
  'updatedAt',
  'lastUsedAt',
  'secretRotatedAt',
] as const;

/** Returns a new public client id: `lh_oc_` and 128 random bits. */
export function newClientId(): string {
  return `lh_oc_${randomBytes(16).toString('base64url')}`;
}

export interface ClientFilters {
  /** Text in the name or the client id. */
  readonly q?: string;
  readonly kind?: OauthClientKind;
}

const listed = preparedList(
  ({ visible, q, kind }: ParametersOf<ClientFilters & { readonly visible: Condition }>) => {
    let clients = query.selectFrom('oauth_clients as c').select(clientColumns).where(visible).where('c.deletedAt', 'is', null);
    if (q) clients = clients.where(({ or, ref }) => or([contains(q, ref('c.clientName')), contains(q, ref('c.clientId'))]));
    if (kind) clients = clients.where('c.kind', '=', kind);
    return clients;
  },
  [{ column: 'c.id', type: 'uuid', descending: true }],
);

/** Returns the clients that an operator sees, newest first; with X-View-*, only those of the view. */
export async function listClients(ctx: Scoped, { filters: { q, kind }, page }: { filters: ClientFilters; page: PageRequest }) {
  return listed(ctx.em, { q, kind, visible: ownTo(ctx, OauthClient, 'c') }, page);
}

/** Loads a client by its client id and locks it; returns null when the caller sees none, or it is deleted. */
export async function lockClient(ctx: Scoped, clientId: string) {
  return row(
    ctx.em,
    query
      .selectFrom('oauth_clients as c')
      .select(clientColumns)
      .where('c.clientId', '=', clientId)
      .where('c.deletedAt', 'is', null)
      .where(ownTo(ctx, OauthClient, 'c'))
      .forNoKeyUpdate(),
  );
}
