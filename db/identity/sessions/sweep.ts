import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { query, type Built } from '../../query.ts';
import { change, row } from '../../sql.ts';

/** What the identity sweep deletes, in this order. */
export const identitySweeps = ['challenges', 'codes', 'transactions', 'stream_tokens', 'refresh_tokens', 'sessions', 'clients'] as const;
export type IdentitySweep = (typeof identitySweeps)[number];

/** The deletion of what has expired, by the database's clock. A session that expired is deleted like a revoked one. */
const deletions = {
  challenges: (limit) => {
    const past = query.selectFrom('auth_challenges').select('id').where('expiresAt', '<=', now).limit(limit).forUpdate().skipLocked();
    return query.deleteFrom('auth_challenges').where('id', 'in', past);
  },
  codes: (limit) => {
    const past = query.selectFrom('oauth_codes').select('codeHash').where('expiresAt', '<=', now).limit(limit).forUpdate().skipLocked();
    return query.deleteFrom('oauth_codes').where('codeHash', 'in', past);
  },
  transactions: (limit) => {
    const past = query
      .selectFrom('oauth_transactions')
      .select('idHash')
      .where('expiresAt', '<=', now)
      .limit(limit)
      .forUpdate()
      .skipLocked();
    return query.deleteFrom('oauth_transactions').where('idHash', 'in', past);
  },
  stream_tokens: (limit) => {
    const past = query.selectFrom('stream_tokens').select('tokenHash').where('expiresAt', '<=', now).limit(limit).forUpdate().skipLocked();
    return query.deleteFrom('stream_tokens').where('tokenHash', 'in', past);
  },
  refresh_tokens: (limit) => {
    const longPast = sql<string>`now() - interval '7 days'`;
    const past = query.selectFrom('refresh_tokens').select('id').where('expiresAt', '<', longPast).limit(limit).forUpdate().skipLocked();
    return query.deleteFrom('refresh_tokens').where('id', 'in', past);
  },
  sessions: (limit) => {
    const isPast = sql<boolean>`coalesce(revoked_at, least(idle_expires_at, expires_at)) < now() - interval '90 days'`;
    const past = query.selectFrom('sessions').select('id').where(isPast).limit(limit).forUpdate().skipLocked();
    return query.deleteFrom('sessions').where('id', 'in', past);
  },
} as const satisfies Record<Exclude<IdentitySweep, 'clients'>, (limit: number) => Built<unknown>>;

/** Deletes at most `limit` unusable rows of a kind; returns how many. Skips rows that another sweep has locked. Sweeper's pool. */
export async function sweepIdentity(em: SqlEntityManager, what: IdentitySweep, limit: number): Promise<number> {
  return what === 'clients' ? sweepClients(em, limit) : change(em, deletions[what](limit));
}

/**
 * Deletes clients that no user of this deployment has made and that were not used for 30 days, and ends the sessions they still have: both end together. A
 * client that came with a document is read from there again when it returns, unless an operator has deleted it: such a row stays.
 */
async function sweepClients(em: SqlEntityManager, limit: number): Promise<number> {
  const swept = await row(
    em,
    query
      .with('unused', (of) =>
        of
          .selectFrom('oauth_clients')
          .select('id')
          .where(({ and, eb, or }) => or([eb('kind', '=', 'registered'), and([eb('kind', '=', 'document'), eb('deletedAt', 'is', null)])]))
          .where(sql<boolean>`greatest(coalesce(last_used_at, created_at), document_expires_at) < now() - interval '30 days'`)
          .limit(limit)
          .forUpdate()
          .skipLocked(),
      )
      .with('gone', (of) => of.deleteFrom('oauth_clients as c').using('unused as u').whereRef('c.id', '=', 'u.id').returning('c.clientId'))
      .with('ended', (of) =>
        of
          .updateTable('sessions')
          .from('gone')
          .set({ revokedAt: now, revokeReason: 'client_deleted' })
          .whereRef('sessions.clientId', '=', 'gone.clientId')
          .where('sessions.kind', '=', 'oauth')
          .where('sessions.revokedAt', 'is', null),
      )
      .selectFrom('gone')
      .select(sql<number>`count(*)::int`.as('count')),
  );
  return swept?.count ?? 0;
}
