import type { Static } from 'typebox';
import { forgetReplies } from '../../db/http/idempotency.ts';
import { endSessionsOfClient } from '../../db/identity/oauth-gates.ts';
import { addClient, deleteClient, listClients, lockClient, newClientId, replaceSecret, type ShownClient } from '../../db/oauth/clients.ts';
import { newClientSecret } from '../../db/oauth/client-secrets.ts';
import { mapPage } from '../../db/page.ts';
import { workspacesOf } from '../../db/reach.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { list, post, remove, type AuditNote, type Ctx } from '../http/operation/operation.ts';
import { checkNewClient, readHome } from './oauth-client-rules.ts';
import {
  OauthClientCreate,
  OauthClientParams,
  OauthClientQuery,
  OauthClientSecretView,
  OauthClientView,
  toOauthClientSecretView,
  toOauthClientView,
} from './oauth-client.schema.ts';

const byOperators = { access: 'operator', visibility: 'operator', resourceType: 'oauth_client', notDelegable: true } as const;

export const oauthClientOperations = {
  listOauthClients: list(
    '/oauth-clients',
    {
      ...byOperators,
      summary: 'List OAuth clients',
      description: 'Pre-registered clients, those that registered themselves, and those that name themselves by a metadata document.',
      query: OauthClientQuery,
      view: OauthClientView,
      paging: 'keyset',
    },
    async (ctx, { query }) =>
      mapPage(await listClients(ctx, { filters: { q: query.q, kind: query.kind }, page: ctx.page }), toOauthClientView),
  ),

  createOauthClient: post(
    '/oauth-clients',
    {
      ...byOperators,
      summary: 'Pre-register an OAuth client',
      description: 'For applications that ask users for access, or that act for one organization by themselves (client_credentials).',
      audit: 'create',
      idempotent: true,
      secretReply: true,
      body: OauthClientCreate,
      view: OauthClientSecretView,
      example: { body: { client_name: 'Dashboard', redirect_uris: ['https://dashboard.example/callback'] } },
    },
    async (ctx, { body }) => create(ctx, body),
  ),

  rotateOauthClientSecret: post(
    '/oauth-clients/{client_id}/rotate-secret',
    {
      ...byOperators,
      summary: 'Rotate the secret of an OAuth client',
      description:
        'Gives a new secret; the old one is dead at once, with the tokens that the client got for itself. A public client has none: 409.',
      audit: 'update',
      fails: ['state_conflict'],
      secretReply: true,
      params: OauthClientParams,
      view: OauthClientSecretView,
      success: [200],
    },
    async (ctx, { params }) => {
      const client = await found(ctx, params.client_id);

      if (client.tokenEndpointAuthMethod === 'none')
        throw fail('state_conflict', { reason: 'public_client', detail: 'a public client has no secret' });
      const secret = newClientSecret(ctx.deps.keys.peppers);
      const changed = await replaceSecret(ctx, client.id, secret.hash);
      // Streams that the client opened for itself end too.
      ctx.outgoing.revoked.push(`oauth_client:${client.id}`);
      ctx.audit({ ...noteOf(client), changes: { client_secret: { changed: true } } });
      return toOauthClientSecretView(changed, secret.plaintext);
    },
  ),

  deleteOauthClient: remove(
    '/oauth-clients/{client_id}',
    {
      ...byOperators,
      summary: 'Delete an OAuth client',
      description:
        'Ends the client, every grant that users have given it, and its own tokens. One that names itself by a document stays shut out.',
      audit: 'delete',
      params: OauthClientParams,
    },
    async (ctx, { params }) => {
      const client = await found(ctx, params.client_id);

      await deleteClient(ctx, client.id);
      await forgetReplies(ctx, [client.id]);
      await endSessionsOfClient(ctx, client.clientId);
      ctx.outgoing.revoked.push(`oauth_client:${client.id}`);
      ctx.audit(noteOf(client));
    },
  ),
};

async function create(ctx: Ctx, body: Static<typeof OauthClientCreate>) {
  const client = checkNewClient(body);
  const home = await readHome(ctx, client);
  const secret = client.tokenEndpointAuthMethod === 'none' ? null : newClientSecret(ctx.deps.keys.peppers);
  const added = await addClient(ctx, {
    ...client,
    ...home,
    clientId: newClientId(),
    kind: 'preregistered',
    secretHash: secret?.hash ?? null,
  });

  ctx.audit({
    ...noteOf(added),
    changes: {
      redirect_uris: { to: added.redirectUris },
      grant_types: { to: added.grantTypes },
      scope: { to: added.scope },
      role: { to: added.role },
    },
  });
  return toOauthClientSecretView(added, secret?.plaintext ?? null);
}

async function found(ctx: Ctx, clientId: string): Promise<ShownClient> {
  const client = await lockClient(ctx, clientId);

  if (!client) throw fail('not_found');
  if (client.workspaceId === null && workspacesOf(ctx.caller) !== null) throw fail('resource_forbidden');
  return client;
}

function noteOf(client: ShownClient): AuditNote {
  return {
    resourceType: 'oauth_client',
    resourceId: client.id,
    label: client.clientName,
    organizationId: client.organizationId,
    workspaceId: client.workspaceId,
  };
}
