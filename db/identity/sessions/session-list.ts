import { fail } from '../../../workflows/contracts/failure.ts';
import { preparedList } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { liveSession } from './endings.ts';
import type { Session } from './session.entity.ts';

/** A session as views show it. */
export type SessionRow = Awaited<ReturnType<typeof readSession>>;

export interface SessionFilters {
  readonly kind?: Session['kind'];
  /** Includes ended sessions: revoked or expired. */
  readonly includesRevoked: boolean;
}

const columns = [
  'id',
  'kind',
  'clientId',
  'clientName',
  'deviceLabel',
  'userAgent',
  'ipTruncated',
  'mfaLevel',
  'verifiedAt',
  'createdAt',
  'lastSeenAt',
  'expiresAt',
  'revokedAt',
] as const;

interface ListArguments {
  readonly userId: string;
  readonly kind: Session['kind'] | undefined;
  readonly isLiveOnly: true | undefined;
}

const listed = preparedList(
  ({ userId, kind, isLiveOnly }: ParametersOf<ListArguments>) => {
    let sessions = query.selectFrom('sessions as s').select(columns).where('s.userId', '=', userId);
    if (isLiveOnly) sessions = sessions.where(liveSession('s'));
    if (kind) sessions = sessions.where('s.kind', '=', kind);
    return sessions;
  },
  [{ column: 's.id', type: 'uuid', descending: true }],
);

/** Returns a user's own sessions, newest first. */
export function listSessions(
  tx: TenantTransaction,
  { userId, filters, page }: { userId: string; filters: SessionFilters; page: PageRequest },
): Promise<Page<SessionRow>> {
  return listed(tx.em, { userId, kind: filters.kind, isLiveOnly: !filters.includesRevoked || undefined }, page);
}

const ownSession = prepared(({ userId, sessionId }: ParametersOf<{ readonly userId: string; readonly sessionId: string }>) =>
  query.selectFrom('sessions as s').select(columns).where('s.id', '=', sessionId).where('s.userId', '=', userId),
);

/** Returns one of a user's own sessions, live or ended. Another user's session is the same 404 as a missing one. */
export async function readSession(tx: TenantTransaction, { userId, sessionId }: { readonly userId: string; readonly sessionId: string }) {
  const found = await row(tx.em, ownSession({ userId, sessionId }));

  if (!found) throw fail('not_found');
  return found;
}
