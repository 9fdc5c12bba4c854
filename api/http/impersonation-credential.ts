import type { Caller } from '../../db/caller.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Delegation } from './delegation.ts';
import type { Deps } from './deps.ts';

/** The caller of an impersonation token: the target's role and scope, in the operator's hands. */
export async function authenticateImpersonation(_deps: Deps, _token: string, _delegation: Delegation): Promise<Caller> {
  throw fail('credential_invalid');
}
