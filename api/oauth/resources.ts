import { resourcesOf } from '../../domain/identity/callers/oauth-tokens.ts';
import { oauthFail } from '../http/credentials/oauth-failure.ts';

/** A resource for which tokens are valid, and its identifier. */
export interface Resource {
  readonly kind: 'api' | 'mcp';
  readonly identifier: string;
}

/**
 * Returns the resource that a parameter names (RFC 8707), or the API without one. The API's origin may end with a slash, as URL builders write it. Throws
 * `invalid_target` for any other.
 */
export function resourceOf(publicUrl: string, asked: string | undefined): Resource {
  const { api, mcp } = resourcesOf(publicUrl);

  if (asked === undefined || asked === api || asked === `${api}/`) return { kind: 'api', identifier: api };
  if (asked === mcp) return { kind: 'mcp', identifier: mcp };
  throw oauthFail('invalid_target', 'The resource is unknown.');
}
