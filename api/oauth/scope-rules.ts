import type { FoundClient } from '../../db/identity/lookup/oauth-lookup.ts';
import { oauthFail } from '../http/credentials/oauth-failure.ts';
import { oauthScopes, resourceScopes } from '../http/credentials/scopes.ts';

/** Returns the scopes of a parameter, or `fallback` without one. Throws `invalid_scope` for a scope that is unknown or beyond `allowed` (null allows all). */
export function chooseScopes(
  asked: string | undefined,
  { allowed, fallback }: { allowed: string | null; fallback: readonly string[] },
): readonly string[] {
  const names = asked === undefined ? fallback : [...new Set(asked.split(' '))];

  for (const name of names) {
    if (!oauthScopes.has(name)) throw oauthFail('invalid_scope', 'A scope is unknown.');
    if (!isWithin(name, allowed)) throw oauthFail('invalid_scope', 'A requested scope was not granted.');
  }
  return names;
}

/**
 * Returns the scopes that a user is asked for. An operator's limit on a client holds: scopes beyond it are left out, and the token reply names the granted ones
 * (RFC 6749 §3.3), since MCP clients request all scopes that a resource names. The scope with which a client registered itself is no limit, only its default:
 * resources gain scopes, and the client steps up to them. Throws `invalid_scope` for an unknown scope, and if none is left.
 */
export function scopesToAsk(
  asked: string | undefined,
  { client, resource }: { client: Pick<FoundClient, 'kind' | 'scope'>; resource: 'api' | 'mcp' },
): readonly string[] {
  const bound = client.kind === 'preregistered' ? client.scope : null;
  const names = chooseScopes(asked, { allowed: null, fallback: usualScopes(client.scope, resource) });
  const within = names.filter((name) => isWithin(name, bound));

  if (within.length === 0) throw oauthFail('invalid_scope', 'The client is not allowed to request all of these scopes.');
  return within;
}

/** Returns the scopes of a request that names none: those of the client, else reading for the API and all scopes of the MCP endpoint. */
export function usualScopes(clientScope: string | null, resource: 'api' | 'mcp'): readonly string[] {
  if (clientScope !== null) return clientScope.split(' ');
  return resource === 'api' ? ['*:read'] : resourceScopes.mcp;
}

/** Returns the scopes of a list that this deployment knows; null if none is left, which means all. */
export function knownScopes(text: string | null | undefined): string | null {
  const known = [...new Set((text ?? '').split(/\s+/))].filter((name) => oauthScopes.has(name));
  return known.length > 0 ? known.join(' ') : null;
}

function isWithin(name: string, allowed: string | null): boolean {
  if (allowed === null) return true;
  const names = allowed.split(' ');
  return names.includes(name) || (name.endsWith(':read') && names.includes('*:read'));
}
