import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change, row } from '../../sql.ts';

/** What the identity sweep deletes, in this order. */
export const identitySweeps = ['challenges', 'codes', 'transactions', 'stream_tokens', 'refresh_tokens', 'sessions', 'clients'] as const;
export type IdentitySweep = (typeof identitySweeps)[number];

interface Rule {
  readonly table: string;
  readonly key: string;
  readonly where: string;
}

const past = 'expires_at <= now()';

/** What has expired, by the database's clock. A session that expired is deleted like a revoked one. */
const rules: Readonly<Record<Exclude<IdentitySweep, 'clients'>, Rule>> = {
  challenges: { table: 'auth_challenges', key: 'id', where: past },
  codes: { table: 'oauth_codes', key: 'code_hash', where: past },
  transactions: { table: 'oauth_transactions', key: 'id_hash', where: past },
  stream_tokens: { table: 'stream_tokens', key: 'token_hash', where: past },
  refresh_tokens: { table: 'refresh_tokens', key: 'id', where: "expires_at < now() - interval '7 days'" },
  sessions: {
    table: 'sessions',
    key: 'id',
    where: "coalesce(revoked_at, least(idle_expires_at, expires_at)) < now() - interval '90 days'",
  },
};

/** Deletes at most `limit` unusable rows of a kind; returns how many. Skips rows that another sweep has locked. Sweeper's pool. */
export async function sweepIdentity(em: SqlEntityManager, what: IdentitySweep, limit: number): Promise<number> {
  if (what === 'clients') return sweepClients(em, limit);

  const { table, key, where } = rules[what];
  return change(em, `delete from ${table} where ${key} in (select ${key} from ${table} where ${where} limit ? for update skip locked)`, [
    limit,
  ]);
}

/**
 * Deletes clients that no user of this deployment has made and that were not used for 30 days, and ends the sessions they still have: both end together. A
 * client that came with a document is read from there again when it returns, unless an operator has deleted it: such a row stays.
 */
async function sweepClients(em: SqlEntityManager, limit: number): Promise<number> {
  const swept = await row<{ count: number }>(
    em,
    `with unused as (
       select id from oauth_clients
       where (kind = 'registered' or (kind = 'document' and deleted_at is null))
         and greatest(coalesce(last_used_at, created_at), document_expires_at) < now() - interval '30 days'
       limit ? for update skip locked),
     gone as (delete from oauth_clients c using unused u where c.id = u.id returning c.client_id),
     ended as (
       update sessions s set revoked_at = now(), revoke_reason = 'client_deleted'
       from gone where s.client_id = gone.client_id and s.kind = 'oauth' and s.revoked_at is null)
     select count(*)::int as count from gone`,
    [limit],
  );
  return swept?.count ?? 0;
}
