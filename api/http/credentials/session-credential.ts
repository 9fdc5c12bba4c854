import type { Caller } from '../../../db/caller.ts';
import { callerOfPerson } from '../../../domain/identity/callers/caller.ts';
import { findSession } from '../../../db/identity/lookup/credential-lookup.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { delegate, idOrNull, narrow, type Delegation } from './delegation.ts';
import type { Deps } from '../operation/deps.ts';

/** The caller of a session's access token. */
export async function authenticateSession(deps: Deps, token: string, delegation: Delegation): Promise<Caller> {
  const claims = await deps.identity.tokens.verify(token);
  const found = await findSession(deps.db, {
    sessionId: claims.sessionId,
    userId: claims.userId,
    actingUserId: idOrNull(delegation.actingUser),
    viewOrganizationId: idOrNull(delegation.viewOrganization),
    viewWorkspaceId: idOrNull(delegation.viewWorkspace),
  });

  if (!found || found.session.kind !== 'login') throw fail('credential_invalid');
  if (found.session.isRevoked || !found.person.isActive) throw fail('session_revoked');
  if (found.session.isOver) throw fail('token_expired');
  deps.identity.uses.record('session', found.session.id, found.session.lastSeenAt);
  const { freshUntil } = found.session;
  const isFresh = freshUntil !== null && new Date(freshUntil) >= deps.db.clock.now();
  const session = isFresh ? found.session : { ...found.session, freshUntil: null };
  return delegate(narrow(callerOfPerson(found.person, session), delegation, found), delegation, found.acting);
}
