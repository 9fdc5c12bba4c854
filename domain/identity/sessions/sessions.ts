import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { endSignInsOf, lockSignInsOf, revokeSession } from '../../../db/identity/sessions/endings.ts';
import {
  findRefreshState,
  openSession,
  type IssuedRefresh,
  type SessionDevice,
  type SessionLifetime,
} from '../../../db/identity/sessions/sessions.ts';
import type { Person } from '../../../db/identity/people/people.ts';
import { newId } from '../../../db/ids.ts';

/** Days without a refresh, and days in all, after which a session ends; the organization's settings may override them. */
export const defaultLifetime = { idleDays: 14, absoluteDays: 90 } as const;

/** The lifetime of a session by its organization's settings; null fields have the default. */
export function lifetimeOf(said: { readonly idleDays: number | null; readonly absoluteDays: number | null }): SessionLifetime {
  return { idleDays: said.idleDays ?? defaultLifetime.idleDays, absoluteDays: said.absoluteDays ?? defaultLifetime.absoluteDays };
}

/** Opens the first session of a user who was just created, as a login of a user without a factor does. */
export async function openFirstSession(
  tx: TenantTransaction,
  opening: {
    readonly person: Pick<Person, 'id'>;
    readonly passwordHash: string;
    readonly device: SessionDevice;
    /** As the organization's settings say. */
    readonly lifetime: { readonly idleDays: number | null; readonly absoluteDays: number | null };
  },
): Promise<IssuedRefresh> {
  const refresh = await openSession(tx, { ...opening, sessionId: newId(), lifetime: lifetimeOf(opening.lifetime) });
  if (!refresh) throw new Error('a user who was just made is not there');
  return refresh;
}

/** Ends one session or grant, for its user or the client that holds it. */
export async function endSession(
  tx: TenantTransaction,
  ended: { readonly sessionId: string; readonly reason: 'logout' | 'revoked' | 'client_revoked' },
): Promise<void> {
  await revokeSession(tx, ended);
}

/** Ends all of a person's sessions but one, and any sign-in or request under way; returns the ids of the sessions that this has ended. */
export async function endOtherSessions(
  tx: TenantTransaction,
  { userId, exceptSessionId }: { readonly userId: string; readonly exceptSessionId: string | null },
): Promise<string[]> {
  await lockSignInsOf(tx, userId);
  return endSignInsOf(tx, { userId, exceptSessionId, reason: 'revoked' });
}

/** Ends all sessions of a user whom the caller has locked, and any sign-in or request under way; returns the ids of the sessions that this has ended. */
export function endAllSessions(tx: TenantTransaction, userId: string): Promise<string[]> {
  return endSignInsOf(tx, { userId, reason: 'revoked' });
}

/** The seconds within which a second use of a refresh token counts as a lost race, not as theft. */
const raceSeconds = 10;

/** Why a refresh token did not win: its session was revoked, it expired, it lost a race, or it was used before. */
export type RefreshVerdict = 'session_revoked' | 'credential_invalid' | 'refresh_superseded' | 'refresh_reuse_detected';

/** The verdict on a losing use, from the rows and the clock of the same transaction. */
export async function judgeRefresh(tx: TenantTransaction, hash: Buffer): Promise<RefreshVerdict> {
  const found = await findRefreshState(tx, hash, raceSeconds);

  if (!found) return 'credential_invalid';
  if (found.isRevoked) return 'session_revoked';
  if (found.isOver || !found.wasUsed) return 'credential_invalid';
  return found.isRace ? 'refresh_superseded' : 'refresh_reuse_detected';
}
