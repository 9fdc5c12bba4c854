import type { Caller } from '../../../db/caller.ts';
import { callerOfKey } from '../../../domain/identity/caller.ts';
import { findServiceKey } from '../../../db/identity/gates.ts';
import { isWellFormedServiceKey, serviceKeyHashes } from '../../../db/identity/service-key-format.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { delegate, idOrNull, narrow, type Delegation } from './delegation.ts';
import type { Deps } from '../operation/deps.ts';

/** The caller that a service key is; a key that can't be one causes no query. */
export async function authenticateKey(deps: Deps, plaintext: string, delegation: Delegation): Promise<Caller> {
  if (!isWellFormedServiceKey(plaintext)) throw fail('credential_invalid');
  const found = await findServiceKey(deps.db, serviceKeyHashes(plaintext, deps.keys.peppers), idOrNull(delegation.actingUser));
  const caller = found && callerOfKey(found.key, found.creator);

  if (!found || !caller) throw fail('credential_invalid');
  deps.identity.marks.note('service_key', found.key.id, found.key.lastUsedAt);
  return delegate(narrow(caller, delegation, null), delegation, found.acting);
}
