import { oauthFail } from '../http/oauth-failure.ts';
import { oauthScopes, resourceScopes } from '../http/scopes.ts';

/** The scopes of a parameter, or what counts without one. Throws `invalid_scope` for what is unknown or beyond `allowed` (null: all of ours). */
export function chooseScopes(
  asked: string | undefined,
  { allowed, fallback }: { allowed: string | null; fallback: readonly string[] },
): readonly string[] {
  const names = asked === undefined ? fallback : [...new Set(asked.split(' '))];

  for (const name of names) {
    if (!oauthScopes.has(name)) throw oauthFail('invalid_scope', 'A scope is unknown.');
    if (!isWithin(name, allowed)) throw oauthFail('invalid_scope', 'A scope is more than was granted.');
  }
  return names;
}

/** What is asked for when a request names no scope: what the client is for, else reading. */
export function usualScopes(clientScope: string | null, resource: 'api' | 'mcp'): readonly string[] {
  if (clientScope !== null) return clientScope.split(' ');
  return resource === 'api' ? ['*:read'] : resourceScopes.mcp;
}

/** Those of a list that this deployment knows; null when none is left, which means all of them. */
export function knownScopes(text: string | null | undefined): string | null {
  const known = [...new Set((text ?? '').split(/\s+/))].filter((name) => oauthScopes.has(name));
  return known.length > 0 ? known.join(' ') : null;
}

function isWithin(name: string, allowed: string | null): boolean {
  if (allowed === null) return true;
  const names = allowed.split(' ');
  return names.includes(name) || (name.endsWith(':read') && names.includes('*:read'));
}
