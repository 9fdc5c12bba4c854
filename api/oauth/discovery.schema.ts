import Type, { type Static } from 'typebox';
import type { JsonWebKey } from 'node:crypto';
import type { PublishedKey } from '../../domain/identity/keys/signing-keys.ts';
import type { ApiEnv } from '../env.ts';
import { oauthScopes, resourceScopes } from '../http/credentials/scopes.ts';
import { closed, listOf, oneOf, text, Url } from '../http/input/schema.ts';

export const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials'] as const;
export const authMethods = ['none', 'client_secret_basic', 'client_secret_post'] as const;

const ScopeName = text(60, { description: 'A scope' });

/** RFC 8414 §2. Absent members are left out, since strict clients refuse null. */
export const OauthServerMetadata = closed(
  {
    issuer: Url,
    authorization_endpoint: Url,
    token_endpoint: Url,
    revocation_endpoint: Url,
    introspection_endpoint: Url,
    jwks_uri: Url,
    registration_endpoint: Type.Optional(Url),
    scopes_supported: listOf(ScopeName),
    response_types_supported: listOf(oneOf(['code'])),
    grant_types_supported: listOf(oneOf(grantTypes)),
    code_challenge_methods_supported: listOf(oneOf(['S256'])),
    token_endpoint_auth_methods_supported: listOf(oneOf(authMethods)),
    authorization_response_iss_parameter_supported: Type.Boolean(),
    client_id_metadata_document_supported: Type.Boolean(),
    service_documentation: Url,
  },
  { $id: 'OauthServerMetadata', description: 'Where and how clients get tokens' },
);

/** RFC 9728 §2. */
export const OauthResourceMetadata = closed(
  {
    resource: Url,
    authorization_servers: listOf(Url, { maxItems: 1 }),
    scopes_supported: listOf(ScopeName),
    bearer_methods_supported: listOf(oneOf(['header'])),
    resource_name: text(200),
    resource_documentation: Url,
  },
  { $id: 'OauthResourceMetadata', description: 'Which tokens a resource accepts, and who issues them' },
);

const JsonWebKeyView = closed(
  {
    kty: oneOf(['OKP']),
    crv: oneOf(['Ed25519']),
    x: text(100, { description: 'The public key, base64url' }),
    kid: text(100),
    alg: oneOf(['EdDSA']),
    use: oneOf(['sig']),
  },
  { $id: 'JsonWebKey', description: 'The public half of a key that signs tokens' },
);

export const JsonWebKeySet = closed({ keys: listOf(JsonWebKeyView) }, { $id: 'JsonWebKeySet', description: 'RFC 7517 §5' });

export function toServerMetadata({ publicUrl, oauth }: Pick<ApiEnv, 'publicUrl' | 'oauth'>): Static<typeof OauthServerMetadata> {
  return {
    issuer: publicUrl,
    authorization_endpoint: `${publicUrl}/oauth/authorize`,
    token_endpoint: `${publicUrl}/oauth/token`,
    revocation_endpoint: `${publicUrl}/oauth/revoke`,
    introspection_endpoint: `${publicUrl}/oauth/introspect`,
    jwks_uri: `${publicUrl}/oauth/jwks`,
    ...(oauth.dynamicRegistration ? { registration_endpoint: `${publicUrl}/oauth/register` } : {}),
    scopes_supported: [...oauthScopes.keys()],
    response_types_supported: ['code'],
    grant_types_supported: [...grantTypes],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: [...authMethods],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: oauth.clientDocuments,
    service_documentation: `${publicUrl}/redoc`,
  };
}

export function toResourceMetadata(publicUrl: string, resource: 'api' | 'mcp'): Static<typeof OauthResourceMetadata> {
  return {
    resource: resource === 'api' ? publicUrl : `${publicUrl}/mcp`,
    authorization_servers: [publicUrl],
    scopes_supported: [...resourceScopes[resource]],
    bearer_methods_supported: ['header'],
    resource_name: resource === 'api' ? 'Longhaul API' : 'Longhaul MCP server',
    resource_documentation: `${publicUrl}/redoc`,
  };
}

export function toJsonWebKeySet(published: readonly PublishedKey[]): Static<typeof JsonWebKeySet> {
  return { keys: published.map(({ kid, jwk }) => ({ kty: 'OKP', crv: 'Ed25519', x: publicPart(jwk), kid, alg: 'EdDSA', use: 'sig' })) };
}

function publicPart({ x }: JsonWebKey): string {
  if (x === undefined) throw new Error('a signing key has no public part');
  return x;
}
