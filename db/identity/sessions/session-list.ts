import { fail } from '../../../workflows/contracts/failure.ts';
import { fetchPage } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { liveSession } from './endings.ts';
import type { SessionRow } from '../people/me.ts';

export interface SessionFilters {
  readonly kind?: SessionRow['kind'];
  /** Includes ended sessions: revoked or expired. */
  readonly includesRevoked: boolean;
}

const columns = `s.id, s.kind, s.client_id, s.client_name, s.device_label, s.user_agent, s.ip_truncated, s.mfa_level, s.verified_at, s.created_at,
  s.last_seen_at, s.expires_at, s.revoked_at`;

/** Returns a user's own sessions, newest first. */
export function listSessions(
  tx: TenantTransaction,
  { userId, filters, page }: { userId: string; filters: SessionFilters; page: PageRequest },
): Promise<Page<SessionRow>> {
  const where = ['s.user_id = ?::uuid'];
  const params: unknown[] = [userId];

  if (!filters.includesRevoked) where.push(liveSession);
  if (filters.kind !== undefined) {
    where.push('s.kind = ?');
    params.push(filters.kind);
  }
  return fetchPage<SessionRow>(tx.em, {
    select: columns,
    from: 'sessions s',
    where: where.join(' and '),
    params,
    order: [{ column: 's.id', type: 'uuid', descending: true }],
    page,
  });
}

/** Returns one of a user's own sessions, live or ended. Another user's session is the same 404 as a missing one. */
export async function readSession(
  tx: TenantTransaction,
  { userId, sessionId }: { readonly userId: string; readonly sessionId: string },
): Promise<SessionRow> {
  const found = await row<SessionRow>(tx.em, `select ${columns} from sessions s where s.id = ?::uuid and s.user_id = ?::uuid`, [
    sessionId,
    userId,
  ]);

  if (!found) throw fail('not_found');
  return found;
}
