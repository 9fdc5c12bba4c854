import type { Static } from 'typebox';
import type { FoundClient } from '../../db/identity/lookup/oauth-lookup.ts';
import { isRegisteredRedirect, withAnswer } from '../../domain/oauth/redirect-uri.ts';
import type { AuthorizationRequest } from '../../db/oauth/transactions.ts';
import type { Violation } from '../../workflows/contracts/failure.ts';
import { oauthFail, OauthFailure } from '../http/credentials/oauth-failure.ts';
import type { IdentifyRequest } from '../http/operation/operation.ts';
import { takesPages } from '../http/openapi/web-page.ts';
import type { AuthorizeQuery } from './authorize.schema.ts';
import { clientOfAuthorization } from './client-lookup.ts';
import { resourceOf } from './resources.ts';
import { scopesToAsk } from './scope-rules.ts';

type Query = Partial<Static<typeof AuthorizeQuery>>;
type Asked = IdentifyRequest<unknown, Query>;

/** A request that may be shown to a user, or the redirect that refuses it. */
export type AuthorizationAttempt =
  | { readonly kind: 'accepted'; readonly client: FoundClient; readonly request: AuthorizationRequest; readonly isBrowser: boolean }
  | { readonly kind: 'refused'; readonly redirectTo: string };

/**
 * Checks a request before anything is written. The reply reports a wrong client or redirect URI, and redirects nobody. Any other error is for the client: a
 * browser is redirected to it (RFC 6749 §4.1.2.1), and another caller gets the error with that redirect.
 */
export async function attemptAuthorization(asked: Asked): Promise<AuthorizationAttempt> {
  // Each field is valid or absent: `violations` lists what broke the schema.
  const query = readable(asked.query, asked.violations);
  const client = await clientOf(asked, query);
  const redirectUri = redirectOf(client, query);
  const isBrowser = takesPages(asked.headers.accept);

  try {
    return { kind: 'accepted', client, request: judge(asked, query, { client, redirectUri }), isBrowser };
  } catch (error) {
    if (!(error instanceof OauthFailure)) throw error;
    const redirectTo = withAnswer(redirectUri, {
      error: error.error,
      error_description: error.detail,
      state: query.state ?? null,
      iss: asked.deps.env.publicUrl,
    });

    if (isBrowser) return { kind: 'refused', redirectTo };
    throw oauthFail(error.error, error.detail, { errors: error.errors, context: { redirect_to: redirectTo } });
  }
}

function clientOf(asked: Asked, { client_id: clientId }: Query): Promise<FoundClient> {
  if (clientId === undefined) throw oauthFail('invalid_request', 'client_id is missing, repeated or too long.');
  return clientOfAuthorization(asked, clientId);
}

function redirectOf(client: FoundClient, { redirect_uri: redirectUri }: Query): string {
  if (redirectUri === undefined) throw oauthFail('invalid_request', 'redirect_uri is missing, repeated or too long.');
  if (!isRegisteredRedirect(redirectUri, client.redirectUris))
    throw oauthFail('invalid_request', 'The client has not registered this redirect_uri.');
  return redirectUri;
}

function judge(
  { violations, deps }: Asked,
  query: Query,
  { client, redirectUri }: { client: FoundClient; redirectUri: string },
): AuthorizationRequest {
  const isOtherType = violations.some(({ name, rule }) => name === 'response_type' && rule === 'enum');

  if (isOtherType) throw oauthFail('unsupported_response_type', 'response_type must be code.');
  if (violations.length > 0) throw oauthFail('invalid_request', detailOf(violations), { errors: violations });
  if (!client.grantTypes.includes('authorization_code'))
    throw oauthFail('unauthorized_client', 'The client is not allowed to request codes.');

  const resource = resourceOf(deps.env.publicUrl, query.resource);
  const scopes = scopesToAsk(query.scope, { client, resource: resource.kind });
  return {
    redirectUri,
    state: query.state ?? null,
    codeChallenge: query.code_challenge ?? '',
    scope: scopes.join(' '),
    resource: resource.identifier,
  };
}

function detailOf(violations: readonly Violation[]): string {
  const names = [...new Set(violations.flatMap(({ name }) => name ?? []))].filter((name) => /^[a-z_]+$/.test(name));
  return `Missing, repeated or malformed: ${names.join(', ')}.`;
}

/** Returns the parameters that are valid. */
function readable(query: Query, violations: readonly Violation[]): Query {
  const broken = new Set(violations.map(({ name }) => name));
  return Object.fromEntries(Object.entries(query).filter(([name]) => !broken.has(name)));
}
