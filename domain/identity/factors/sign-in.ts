import { openChallenge, type LoginChallenge } from '../../../db/identity/factors/challenges.ts';
import { replaceOutdatedHash } from '../../../db/identity/factors/credentials.ts';
import { revokeSession } from '../../../db/identity/sessions/endings.ts';
import type { LoginAnswer, RefreshAnswer } from '../../../db/identity/lookup/credential-lookup.ts';
import type { KeyRing } from '../../../db/key-ring.ts';
import { insertLoginFailure, type LoginFailure } from '../../../db/identity/factors/login-failures.ts';
import { openSession, rotateRefresh, type IssuedRefresh, type SessionDevice } from '../../../db/identity/sessions/sessions.ts';
import { newId } from '../../../db/ids.ts';
import { writeAudit } from '../../../db/audit/audit.ts';
import { readUser, type UserRow } from '../../../db/identity/people/users.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { notify } from '../people/notices.ts';
import { defaultLifetime, judgeRefresh, lifetimeOf, type RefreshVerdict } from '../sessions/sessions.ts';

/** A login whose password has been verified. */
interface VerifiedLogin {
  readonly found: Pick<LoginAnswer, 'person' | 'idleDays' | 'absoluteDays'>;
  readonly passwordHash: string;
  /** A new hash, if the stored one was made with outdated parameters. */
  readonly freshHash: string | null;
}

/**
 * Opens the session of a login and returns what `issue` makes for it, an access token. Throws 401 `login_failed` when the password or the user's state has
 * changed since the password was verified, or a second factor was confirmed while this waited.
 */
export async function signIn<Access>(
  tx: TenantTransaction,
  login: VerifiedLogin,
  {
    device,
    issue,
  }: {
    readonly device: SessionDevice;
    readonly issue: (session: { readonly userId: string; readonly sessionId: string }) => Promise<Access>;
  },
): Promise<{ readonly refresh: IssuedRefresh; readonly user: UserRow; readonly access: Access }> {
  const { person } = login.found;
  const sessionId = newId();

  // In one round trip: the user is read as this login leaves it, and a token without its session is worthless.
  const [refresh, user, access] = await Promise.all([
    openSession(tx, { person, passwordHash: login.passwordHash, sessionId, device, lifetime: lifetimeOf(login.found) }),
    readUser(tx, person.id),
    issue({ userId: person.id, sessionId }),
  ]);

  if (!refresh || !user || user.mfaEnabled) throw fail('login_failed');
  await keepFreshHash(tx, login);
  return { refresh, user, access };
}

/** Opens the challenge of a user with a second factor, the first half of a sign-in. Throws 401 `login_failed` as `signIn` does. */
export async function challengeSignIn(tx: TenantTransaction, login: VerifiedLogin, deviceLabel: string | null): Promise<LoginChallenge> {
  const opened = await openChallenge(tx, { userId: login.found.person.id, passwordHash: login.passwordHash, deviceLabel });

  if (!opened) throw fail('login_failed');
  await keepFreshHash(tx, login);
  return opened;
}

/** Uses up a refresh token and issues its successor; of any number of concurrent uses one wins, the others get a verdict. */
export async function refreshSession(
  tx: TenantTransaction,
  { hash, idleDays }: { readonly hash: Buffer; readonly idleDays: number | null },
): Promise<IssuedRefresh | RefreshVerdict> {
  const issued = await rotateRefresh(tx, { hash, idleDays: idleDays ?? defaultLifetime.idleDays });
  return issued ?? judgeRefresh(tx, hash);
}

/** Ends the session of a reused refresh token, audits that and notifies the owner: once, whatever the number of concurrent uses. */
export async function endFamily(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'mailKeys'>,
  {
    found: { session, person },
    request,
  }: {
    readonly found: Pick<RefreshAnswer, 'session' | 'person'>;
    readonly request: { readonly operationId: string; readonly ip: string; readonly userAgent: string | null };
  },
): Promise<void> {
  const { id: userId, organizationId, workspaceId } = person;
  if (!(await revokeSession(tx, { sessionId: session.id, reason: 'refresh_reuse' }))) return;

  await notify(tx, keys, { template: 'refresh_reuse', userId, organizationId, workspaceId });
  await writeAudit(tx, {
    action: 'logout',
    note: { resourceType: 'session', resourceId: session.id, organizationId, workspaceId },
    ...request,
  });
}

/** Records a refused sign-in or verification; it never enters the audit log. */
export function recordLoginFailure(tx: TenantTransaction, failure: LoginFailure): Promise<void> {
  return insertLoginFailure(tx, failure);
}

async function keepFreshHash(tx: TenantTransaction, { found, passwordHash, freshHash }: VerifiedLogin): Promise<void> {
  if (freshHash !== null) await replaceOutdatedHash(tx, { userId: found.person.id, from: passwordHash, to: freshHash });
}
