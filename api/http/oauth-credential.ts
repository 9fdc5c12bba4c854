import type { Caller } from '../../db/caller.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Delegation } from './delegation.ts';
import type { Deps } from './deps.ts';

/** Whether a bearer is an OAuth access token (RFC 9068: typ `at+jwt`), by its unverified header. */
export function isOauthTokenLike(_token: string): boolean {
  return false;
}

/** The caller of an OAuth access token for the resource that is the API's origin. */
export async function authenticateOauthToken(_deps: Deps, _token: string, _delegation: Delegation): Promise<Caller> {
  throw fail('credential_invalid');
}
