import { resourcesOf } from '../../domain/identity/callers/oauth-tokens.ts';
import { oauthFail } from '../http/credentials/oauth-failure.ts';

/** A resource that tokens are for: which it is, and its identifier. */
export interface Resource {
  readonly kind: 'api' | 'mcp';
  readonly identifier: string;
}

/** The resource of a parameter (RFC 8707), the API without one. Clients that build URLs write an origin with a slash. Throws `invalid_target`. */
export function resourceOf(publicUrl: string, asked: string | undefined): Resource {
  const { api, mcp } = resourcesOf(publicUrl);

  if (asked === undefined || asked === api || asked === `${api}/`) return { kind: 'api', identifier: api };
  if (asked === mcp) return { kind: 'mcp', identifier: mcp };
  throw oauthFail('invalid_target', 'The resource is unknown.');
}
