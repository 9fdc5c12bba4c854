import type { Static } from 'typebox';
import Type from 'typebox';
import type { NewClient } from '../../db/oauth/write-clients.ts';
import { faultOfRedirectUri, hostOfRedirect } from '../../domain/oauth/redirect-uri.ts';
import { oauthFail, OauthFailure } from '../http/credentials/oauth-failure.ts';
import { listOf, nullable, text } from '../http/input/schema.ts';
import { knownScopes } from './scope-rules.ts';
import { authMethods } from './discovery.schema.ts';

const RedirectUri = text(2_048, { description: 'Compared exactly; on a loopback address the port can differ' });
const TypeName = text(100);

/** RFC 7591 §2. Open on purpose: unknown members are ignored. */
export const ClientRegistrationRequest = Type.Object(
  {
    redirect_uris: listOf(RedirectUri, { minItems: 1, maxItems: 10 }),
    client_name: Type.Optional(nullable(text(200))),
    token_endpoint_auth_method: Type.Optional(nullable(text(40, { description: 'Default none' }))),
    scope: Type.Optional(nullable(text(400))),
    grant_types: Type.Optional(nullable(listOf(TypeName, { maxItems: 10 }))),
    response_types: Type.Optional(nullable(listOf(TypeName, { maxItems: 10 }))),
  },
  { $id: 'ClientRegistrationRequest', additionalProperties: true, description: 'What a client says about itself' },
);
export type ClientMetadata = Static<typeof ClientRegistrationRequest>;

/** The part of a client's metadata that is stored. */
export type AcceptedMetadata = Pick<NewClient, 'clientName' | 'redirectUris' | 'tokenEndpointAuthMethod' | 'grantTypes' | 'scope'>;

const ownGrants = ['authorization_code', 'refresh_token'];

/**
 * Checks metadata whose shape is valid. Leaves out grants and scopes that are not served here (RFC 7591 §2 lets a server replace them). Throws 400
 * `invalid_redirect_uri` for an unusable redirect URI, and 422 `invalid_client_metadata` for anything else that can't work.
 */
export function acceptMetadata(metadata: ClientMetadata, usualGrants: readonly string[]): AcceptedMetadata {
  const redirectUris = [...new Set(metadata.redirect_uris)];
  const grants = metadata.grant_types ?? usualGrants;
  const method = authMethods.find((name) => name === (metadata.token_endpoint_auth_method ?? 'none'));

  redirectUris.forEach(refuseRedirect);
  if (!grants.includes('authorization_code')) throw unfit('/grant_types', 'must contain authorization_code');
  if (metadata.response_types && !metadata.response_types.includes('code')) throw unfit('/response_types', 'must contain code');
  if (!method) throw unfit('/token_endpoint_auth_method', 'must be none, client_secret_basic or client_secret_post');

  return {
    clientName: shownName(metadata.client_name) || hostOfRedirect(redirectUris[0] ?? ''),
    redirectUris,
    tokenEndpointAuthMethod: method,
    grantTypes: ownGrants.filter((grant) => grants.includes(grant)),
    scope: knownScopes(metadata.scope),
  };
}

function refuseRedirect(uri: string, index: number): void {
  const fault = faultOfRedirectUri(uri);
  if (fault === null) return;
  throw oauthFail('invalid_redirect_uri', `A redirect URI ${fault}.`, {
    errors: [{ in: 'body', pointer: `/redirect_uris/${index}`, name: null, rule: 'redirect_uri', message: fault }],
  });
}

function unfit(pointer: string, message: string): OauthFailure {
  return new OauthFailure('validation_failed', 'invalid_client_metadata', {
    detail: `${pointer.slice(1)} ${message}`,
    errors: [{ in: 'body', pointer, name: null, rule: 'range', message }],
  });
}

/** Returns a name that is safe to show: without control characters, which could reverse or hide text. */
function shownName(name: string | null | undefined): string {
  return (name ?? '').replaceAll(/\p{C}/gu, '').trim();
}
