import Type, { type Static } from 'typebox';
import type { FoundClient } from '../../db/identity/lookup/oauth-lookup.ts';
import { isLoopbackUri, isPrivateUri, shownRedirect } from '../../domain/oauth/redirect-uri.ts';
import type { AuthorizationRequest } from '../../db/oauth/transactions.ts';
import { iso } from '../../db/sql.ts';
import { oauthScopes } from '../http/credentials/scopes.ts';
import { closed, listOf, oneOf, text, Timestamp, Url } from '../http/input/schema.ts';

/** Open: unknown parameters are ignored (RFC 6749 §3.1). */
export const AuthorizeQuery = Type.Object(
  {
    response_type: oneOf(['code'], { description: 'Always code' }),
    client_id: text(1_024, { minLength: 1, description: 'Id of the client, or the URL of its metadata document' }),
    redirect_uri: text(2_048, { minLength: 1, description: 'One of the client’s registered redirect URIs' }),
    scope: Type.Optional(text(1_000, { description: 'Names separated by spaces' })),
    state: Type.Optional(text(500, { description: 'Returned unchanged' })),
    code_challenge: text(43, { minLength: 43, pattern: '^[A-Za-z0-9_-]{43}$', description: 'SHA-256 of the verifier (RFC 7636 §4.2)' }),
    code_challenge_method: oneOf(['S256'], { description: 'Always S256' }),
    resource: Type.Optional(text(2_048, { description: 'The resource for which the tokens are valid; defaults to the API (RFC 8707)' })),
  },
  { additionalProperties: true },
);

const TransactionId = text(100, { minLength: 1, description: 'Valid for one decision within 10 minutes' });
const ScopeName = text(60);

export const AuthorizationTransactionView = closed(
  {
    transaction_id: TransactionId,
    client: closed({
      client_id: text(1_024),
      client_name: text(200),
      kind: oneOf(['preregistered', 'registered', 'document']),
      host: Type.Optional(text(300, { description: 'Host of its metadata document' })),
    }),
    redirect_host: text(2_048, { description: 'Where the answer goes: a host, or the whole address if its scheme is private' }),
    scopes: listOf(closed({ name: ScopeName, description: text(200) })),
    resource: Url,
    warnings: listOf(oneOf(['loopback_only', 'self_registered', 'private_scheme'], { extensible: true })),
    expires_at: Timestamp,
  },
  { $id: 'AuthorizationTransactionView', description: 'What a client requests from the user' },
);
export type AuthorizationTransaction = Static<typeof AuthorizationTransactionView>;

export const AuthorizationDecisionBody = closed(
  {
    transaction_id: TransactionId,
    decision: oneOf(['approve', 'deny']),
    scopes: Type.Optional(
      listOf(ScopeName, { minItems: 1, uniqueItems: true, description: 'A subset of the requested scopes; defaults to all' }),
    ),
  },
  { $id: 'AuthorizationDecisionBody' },
);

export const AuthorizationDecisionView = closed(
  { redirect_to: text(8_000, { description: 'Where to send the browser' }) },
  { $id: 'AuthorizationDecisionView' },
);

export function toTransactionView(
  client: FoundClient,
  request: AuthorizationRequest,
  { transactionId, expiresAt }: { transactionId: string; expiresAt: Date | string },
): AuthorizationTransaction {
  return {
    transaction_id: transactionId,
    client: {
      client_id: client.clientId,
      client_name: client.clientName,
      kind: client.kind,
      ...(client.kind === 'document' ? { host: new URL(client.clientId).host } : {}),
    },
    redirect_host: shownRedirect(request.redirectUri),
    scopes: request.scope.split(' ').map((name) => ({ name, description: oauthScopes.get(name) ?? name })),
    resource: request.resource,
    warnings: [
      ...(client.redirectUris.every(isLoopbackUri) ? (['loopback_only'] as const) : []),
      ...(isPrivateUri(request.redirectUri) ? (['private_scheme'] as const) : []),
      ...(client.kind === 'registered' ? (['self_registered'] as const) : []),
    ],
    expires_at: iso(expiresAt),
  };
}
