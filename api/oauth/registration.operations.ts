import type { Static } from 'typebox';
import { findClient, type FoundClient } from '../../db/identity/lookup/oauth-lookup.ts';
import { isRegistrationToken } from '../../db/oauth/client-secrets.ts';
import { registerClient, unregisterClient } from '../../domain/oauth/clients.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { OauthFailure } from '../http/credentials/oauth-failure.ts';
import { get, post, remove, type PrecheckRequest, type Ctx, type IdentifyRequest } from '../http/operation/operation.ts';
import { acceptMetadata, ClientRegistrationRequest } from './client-metadata.ts';
import { OauthClientRegistrationView, RegistrationParams, toRegistrationView } from './registration.schema.ts';

/** A client that has shown its registration token, and that token. */
interface Registration {
  readonly client: FoundClient;
  readonly token: string;
}

const byRegistration = { access: 'registration-token', params: RegistrationParams, identify: identifyRegistration } as const;

export const registrationOperations = {
  registerOauthClient: post(
    '/oauth/register',
    {
      summary: 'Register a client',
      description:
        'Lets an application register itself (RFC 7591); refused unless dynamic registration is enabled in the deployment. A registration that is unused for 30 days is deleted.',
      access: 'none',
      fails: ['oauth_request_invalid', 'registration_disabled'],
      audit: 'create',
      resourceType: 'oauth_client',
      cors: 'any',
      precheck: precheckRegistration,
      body: ClientRegistrationRequest,
      view: OauthClientRegistrationView,
      example: { body: { client_name: 'Example', redirect_uris: ['https://app.example/callback'] } },
    },
    async (ctx, { body }) => register(ctx, body),
  ),

  getOauthClientRegistration: get(
    '/oauth/register/{client_id}',
    {
      ...byRegistration,
      summary: 'Read a registration',
      description: 'Returns the registered client to the holder of its registration token (RFC 7592). The secret is not shown again.',
      transaction: 'none',
      view: OauthClientRegistrationView,
    },
    async (ctx, { identified }) => {
      const { client, token } = identified;

      return toRegistrationView(client, { publicUrl: ctx.deps.env.publicUrl, issuedAt: client.createdAt, token, secret: null });
    },
  ),

  deleteOauthClientRegistration: remove(
    '/oauth/register/{client_id}',
    {
      ...byRegistration,
      summary: 'Delete a registration',
      description: 'Ends the client and every grant that users have given it (RFC 7592).',
      audit: 'delete',
    },
    async (ctx, { identified }) => {
      const { client } = identified;

      if (!(await unregisterClient(ctx, client))) throw wrongToken();
      ctx.audit({ resourceType: 'oauth_client', resourceId: client.id, label: client.clientName });
    },
  ),
};

/** Throws 403 unless the deployment allows dynamic registration; else counts the request by the client's address. */
async function precheckRegistration({ deps, limits, limitAddress }: PrecheckRequest): Promise<void> {
  if (!deps.env.oauth.dynamicRegistration) {
    throw fail('registration_disabled', {
      detail: 'Dynamic registration is off. An operator can register the client, or set OAUTH_DYNAMIC_REGISTRATION=true.',
    });
  }
  await limits.consume([{ policy: 'oauth_register', key: limitAddress }]);
}

async function register(ctx: Ctx, body: Static<typeof ClientRegistrationRequest>) {
  const { client, token, secret } = await registerClient(ctx, acceptMetadata(body, ['authorization_code']), ctx.deps.keys.peppers);

  ctx.audit({
    resourceType: 'oauth_client',
    resourceId: client.id,
    label: client.clientName,
    changes: { kind: { to: client.kind }, redirect_uris: { to: client.redirectUris }, grant_types: { to: client.grantTypes } },
  });
  return toRegistrationView(
    { ...client, authMethod: client.tokenEndpointAuthMethod },
    { publicUrl: ctx.deps.env.publicUrl, issuedAt: client.createdAt, token, secret },
  );
}

/** Returns the client whose registration token is the bearer token. An unknown client and a wrong token get the same answer. */
async function identifyRegistration({
  deps,
  params,
  headers,
}: IdentifyRequest<unknown, unknown, Static<typeof RegistrationParams>>): Promise<Registration> {
  const [, token] = /^bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
  const client = token === undefined ? null : await findClient(deps.db, params.client_id);

  if (!client || token === undefined || client.isDeleted || !isRegistrationToken(token, client.registrationHash)) throw wrongToken();
  return { client, token };
}

function wrongToken(): OauthFailure {
  return new OauthFailure('credential_invalid', 'invalid_token', {
    detail: 'The client is unknown, or the token is not its registration token.',
  });
}
