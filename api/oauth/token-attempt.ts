import { createHash } from 'node:crypto';
import type { Caller } from '../../db/caller.ts';
import { callerOfPerson } from '../../domain/identity/callers/caller.ts';
import { callerOfClient } from '../../domain/identity/callers/oauth-caller.ts';
import { findCode, findGrant, type FoundClient, type FoundCode, type FoundGrant } from '../../db/identity/lookup/oauth-lookup.ts';
import { isOpaqueToken, tokenHash } from '../../db/identity/factors/opaque-tokens.ts';
import { oauthFail } from '../http/credentials/oauth-failure.ts';
import type { IdentifyRequest } from '../http/operation/operation.ts';
import { authenticateClient } from './client-auth.ts';
import { resourceOf } from './resources.ts';
import { chooseScopes, usualScopes } from './scope-rules.ts';
import type { TokenForm } from './token.schema.ts';

interface Common {
  readonly caller: Caller;
  readonly client: FoundClient;
  readonly scopes: readonly string[];
}

/** A token request whose client is authenticated, with what it exchanges; nothing is written yet. */
export type TokenAttempt =
  | (Common & { readonly kind: 'code'; readonly hash: Buffer; readonly code: FoundCode })
  /** A code that has already been used: its grant ends. */
  | (Common & { readonly kind: 'used_code'; readonly hash: Buffer; readonly code: FoundCode })
  /** A live code of this client with a wrong redirect URI or verifier: it is consumed. */
  | (Common & { readonly kind: 'unproven_code'; readonly hash: Buffer; readonly code: FoundCode })
  | (Common & { readonly kind: 'refresh'; readonly hash: Buffer; readonly grant: FoundGrant })
  | (Common & { readonly kind: 'client'; readonly resource: string });

/** Checks a token request (RFC 6749 §4.1.3, §4.4.2, §6); every refusal carries the code of the RFC. */
export async function attemptToken(asked: IdentifyRequest<TokenForm>): Promise<TokenAttempt> {
  const form = asked.body;
  const client = await authenticateClient(asked, form);

  switch (form.grant_type) {
    case 'authorization_code':
      return attemptCode(asked, client, form);
    case 'refresh_token':
      return attemptRefresh(asked, client, form);
    case 'client_credentials':
      return attemptClient(asked, client, form);
    default:
      throw oauthFail('unsupported_grant_type', 'The grant type is unknown.');
  }
}

async function attemptCode(asked: IdentifyRequest, client: FoundClient, form: TokenForm): Promise<TokenAttempt> {
  const { code: plaintext, redirect_uri: redirectUri, code_verifier: verifier } = form;

  refuseGrant(client, 'authorization_code');
  if (plaintext === undefined || redirectUri === undefined) throw oauthFail('invalid_request', 'code and redirect_uri are required.');
  const hash = tokenHash(plaintext);
  const code = isOpaqueToken('code', plaintext) ? await findCode(asked.deps.db, hash) : null;

  // Every invalid code gets the same answer, so that nothing is confirmed.
  if (!code || code.clientId !== client.clientId) throw invalidGrant();
  const attempt = { caller: callerOfPerson(code.person, null), client, hash, code, scopes: code.scope.split(' ') };
  if (code.wasUsed) return { ...attempt, kind: 'used_code' };
  if (code.isOver || !code.person.isActive) throw invalidGrant();
  const isProven = code.redirectUri === redirectUri && verifier !== undefined && challengeOf(verifier) === code.codeChallenge;
  if (!isProven) return { ...attempt, kind: 'unproven_code' };

  refuseOtherResource(asked, form, code.resource);
  return { ...attempt, kind: 'code', scopes: chooseScopes(form.scope, { allowed: code.scope, fallback: attempt.scopes }) };
}

async function attemptRefresh(asked: IdentifyRequest, client: FoundClient, form: TokenForm): Promise<TokenAttempt> {
  const { refresh_token: plaintext } = form;

  refuseGrant(client, 'refresh_token');
  if (plaintext === undefined) throw oauthFail('invalid_request', 'refresh_token is required.');
  const hash = tokenHash(plaintext);
  const grant = isOpaqueToken('refresh', plaintext) ? await findGrant(asked.deps.db, hash) : null;

  if (!grant || grant.session.clientId !== client.clientId) throw invalidGrant();
  await asked.limits.consume([{ policy: 'refresh', key: grant.session.id }]);
  if (!grant.person.isActive) throw invalidGrant();
  refuseOtherResource(asked, form, grant.session.resource ?? '');
  const scopes = chooseScopes(form.scope, { allowed: grant.scope, fallback: grant.scope.split(' ') });
  return { kind: 'refresh', caller: callerOfPerson(grant.person, null), client, hash, grant, scopes };
}

async function attemptClient(asked: IdentifyRequest, client: FoundClient, form: TokenForm): Promise<TokenAttempt> {
  refuseGrant(client, 'client_credentials');
  const resource = resourceOf(asked.deps.env.publicUrl, form.resource);
  const scopes = chooseScopes(form.scope, { allowed: client.scope, fallback: usualScopes(client.scope, resource.kind) });
  const caller = callerOfClient(client, { scopes });

  // Only confidential clients of an organization may use this grant; `callerOfClient` returns null for a client without one.
  if (!caller || client.authMethod === 'none') throw oauthFail('unauthorized_client', 'The client is not allowed to act for itself.');
  return { kind: 'client', caller, client, scopes, resource: resource.identifier };
}

function refuseGrant(client: FoundClient, grant: string): void {
  if (!client.grantTypes.includes(grant)) throw oauthFail('unauthorized_client', 'The client is not allowed to use this grant type.');
}

/** A request may name the granted resource again, but no other (RFC 8707 §2.2). */
function refuseOtherResource({ deps }: IdentifyRequest, { resource }: TokenForm, granted: string): void {
  if (resource === undefined || resourceOf(deps.env.publicUrl, resource).identifier === granted) return;
  throw oauthFail('invalid_target', 'The grant is for another resource.');
}

export function invalidGrant() {
  return oauthFail('invalid_grant', 'The grant is unknown, used, expired or not for this request.');
}

/** RFC 7636 §4.6, S256. */
function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}
