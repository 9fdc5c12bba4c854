import type { Static } from 'typebox';
import { listClients, type ShownClient } from '../../db/oauth/clients.ts';
import { mapPage } from '../../db/page.ts';
import { createClient, deleteClient, rotateClientSecret, seeClientForChange } from '../../domain/oauth/clients.ts';
import { list, post, remove, type AuditNote, type Ctx } from '../http/operation/operation.ts';
import { checkNewClient, readRowScope } from './oauth-client-rules.ts';
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
      description: 'Pre-registered clients, clients that registered themselves, and clients that are identified by a metadata document.',
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
      description: 'For applications that ask users for access, or that act for one organization on their own (client_credentials).',
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
        'Returns a new secret; the old one stops working at once, as do the tokens that the client obtained for itself. 409 for a public client, which has no secret.',
      audit: 'update',
      fails: ['state_conflict'],
      secretReply: true,
      params: OauthClientParams,
      view: OauthClientSecretView,
      success: [200],
    },
    async (ctx, { params }) => {
      const client = await seeClientForChange(ctx, params.client_id);

      const rotated = await rotateClientSecret(ctx, client, ctx.deps.keys.peppers);
      ctx.audit({ ...noteOf(client), changes: { client_secret: { changed: true } } });
      return toOauthClientSecretView(rotated.client, rotated.secret);
    },
  ),

  deleteOauthClient: remove(
    '/oauth-clients/{client_id}',
    {
      ...byOperators,
      summary: 'Delete an OAuth client',
      description:
        'Ends the client, every grant that users have given it, and its own tokens. A client identified by a metadata document stays blocked.',
      audit: 'delete',
      params: OauthClientParams,
    },
    async (ctx, { params }) => {
      const client = await seeClientForChange(ctx, params.client_id);

      await deleteClient(ctx, client);
      ctx.audit(noteOf(client));
    },
  ),
};

async function create(ctx: Ctx, body: Static<typeof OauthClientCreate>) {
  const described = checkNewClient(body);
  const rowScope = await readRowScope(ctx, described);
  const { client: added, secret } = await createClient(ctx, { ...described, ...rowScope }, ctx.deps.keys.peppers);

  ctx.audit({
    ...noteOf(added),
    changes: {
      redirect_uris: { to: added.redirectUris },
      grant_types: { to: added.grantTypes },
      scope: { to: added.scope },
      role: { to: added.role },
    },
  });
  return toOauthClientSecretView(added, secret);
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
