import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { newId } from '../ids.ts';
import { row, run, queueStatement } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { forgetSql } from './idempotency-functions.sql.ts';

/** Whose key it is and for which request: one row each. */
export interface KeySpace {
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly principalKind: string;
  readonly principalId: string;
  readonly actingUserId: string | null;
  readonly method: string;
  readonly route: string;
  readonly key: string;
}

/** The row as a request finds it. `leaseUntil` is the database's own text, since it is compared for equality. */
export interface IdempotencyRow {
  readonly id: string;
  readonly isMine: boolean;
  readonly isLeaseOver: boolean;
  readonly isExpired: boolean;
  readonly fingerprint: Buffer;
  readonly state: 'running' | 'done';
  readonly leaseUntil: string | null;
  readonly status: number | null;
  readonly headers: Record<string, string> | null;
  readonly body: Buffer | null;
  readonly bodyKeyId: string | null;
}

export interface StoredReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly bodyKeyId: string | null;
  /** Rows whose views the body contains: erasing one of them finds the reply by it. */
  readonly shownIds: readonly string[];
}

const leaseSeconds = 90;
const keepHours = 24;
const columns = `id, fingerprint, state, lease_until::text as "leaseUntil", status, headers, body, body_key_id as "bodyKeyId",
  coalesce(lease_until < clock_timestamp(), false) as "isLeaseOver", expires_at <= clock_timestamp() as "isExpired"`;
const matches = `organization_id is not distinct from ?::uuid and workspace_id is not distinct from ?::uuid and principal_kind = ?
  and principal_id = ? and acting_user_id is not distinct from ?::uuid and method = ? and route = ? and key = ?`;

/** Inserts the row or reads the existing one, in one statement. Returns null when a rival's row was committed after the statement's snapshot: call it again. */
export function reserveKey(em: SqlEntityManager, scope: KeySpace, fingerprint: Buffer): Promise<IdempotencyRow | null> {
  const place = [
    scope.organizationId,
    scope.workspaceId,
    scope.principalKind,
    scope.principalId,
    scope.actingUserId,
    scope.method,
    scope.route,
    scope.key,
  ];
  return row<IdempotencyRow>(
    em,
    `with mine as (
       insert into idempotency_keys (id, organization_id, workspace_id, principal_kind, principal_id, acting_user_id, method, route, key,
         fingerprint, state, lease_until, created_at, expires_at)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', clock_timestamp() + interval '${leaseSeconds} seconds', now(), now() + interval '${keepHours} hours')
       on conflict do nothing
       returning ${columns}
     )
     select *, true as "isMine" from mine
     union all
     select ${columns}, false as "isMine" from idempotency_keys where ${matches}`,
    [newId(), ...place, fingerprint, ...place],
  );
}

/** Takes over an expired lease; returns the new lease, or null when a rival was faster. */
export async function takeOverLease(em: SqlEntityManager, id: string, oldLease: string): Promise<string | null> {
  const taken = await row<{ lease: string }>(
    em,
    `update idempotency_keys set lease_until = clock_timestamp() + interval '${leaseSeconds} seconds'
     where id = ? and state = 'running' and lease_until = ?::timestamptz
     returning lease_until::text as lease`,
    [id, oldLease],
  );
  return taken?.lease ?? null;
}

/**
 * Stores a reply under the request's own lease, unless another request has taken the lease over. With `isFinal` false the lease stays, and the stored reply is
 * a stand-in.
 */
export async function storeReply(em: SqlEntityManager, id: string, lease: string, stored: StoredReply, isFinal: boolean): Promise<void> {
  await run(em, storeSql(isFinal), storeParams(id, lease, stored));
}

/** The same with the transaction's next statement or its commit; refuses the whole transaction (409) when another request has taken the lease over. */
export async function queueReply(em: SqlEntityManager, id: string, lease: string, stored: StoredReply, isFinal: boolean): Promise<void> {
  const sql = `with stored as (${storeSql(isFinal)}) select app_refuse('LH409', case when not exists (select from stored) then 'lease_lost' end)`;
  await queueStatement(em, sql, storeParams(id, lease, stored));
}

function storeSql(isFinal: boolean): string {
  return `update idempotency_keys set status = ?, headers = ?::jsonb, body = ?, body_key_id = ?, shown_ids = ?::uuid[]
       ${isFinal ? ", state = 'done', lease_until = null" : ''}
     where id = ? and state = 'running' and lease_until = ?::timestamptz
     returning id`;
}

function storeParams(id: string, lease: string, { status, headers, body, bodyKeyId, shownIds }: StoredReply): unknown[] {
  return [status, JSON.stringify(headers), body, bodyKeyId, [...shownIds], id, lease];
}

/** Deletes the key of a request under its own lease if nothing is stored for it. Returns false when it stays. */
export async function deleteUnstored(em: SqlEntityManager, id: string, lease: string): Promise<boolean> {
  const released = await row(
    em,
    `delete from idempotency_keys where id = ? and state = 'running' and lease_until = ?::timestamptz and status is null returning id`,
    [id, lease],
  );
  return released !== null;
}

/** Makes the stand-in final: the reply that should have replaced it failed, but the effect of the request stays. */
export async function settleStandIn(em: SqlEntityManager, id: string, lease: string): Promise<void> {
  await row(
    em,
    `update idempotency_keys set state = 'done', lease_until = null
     where id = ? and state = 'running' and lease_until = ?::timestamptz and status is not null
     returning id`,
    [id, lease],
  );
}

/** Removes an expired row that the sweep has not reached yet. */
export async function removeExpiredKey(em: SqlEntityManager, id: string): Promise<void> {
  await row(em, 'delete from idempotency_keys where id = ? and expires_at <= clock_timestamp() returning id', [id]);
}

/**
 * Erases the stored replies that show rows being erased, and with a person those of their invitations: a key stays used, and its repeat is 404. In the reply to
 * a batch, only what shows a run is erased; `gone` is the error in its place. Goes with the transaction's next statement or its commit.
 */
export async function forgetReplies(tx: Pick<TenantTransaction, 'em'>, ids: readonly string[], gone: object = {}): Promise<void> {
  await queueStatement(tx.em, 'select gate_forget_replies(?::uuid[], ?::jsonb)', [[...ids], JSON.stringify(gone)]);
}

/** The same in one organization on the sweeper's pool. */
export async function sweepReplies(em: SqlEntityManager, organizationId: string, ids: readonly string[]): Promise<void> {
  const own = '(k.organization_id = ?::uuid or k.organization_id is null)';
  await row(em, forgetSql({ ids: '?::uuid[]', gone: "'{}'::jsonb", own }), [[...ids], organizationId]);
}

/** Deletes at most `limit` expired rows; returns how many. For the sweeper. */
export async function sweepIdempotencyKeys(em: SqlEntityManager, limit: number): Promise<number> {
  const swept = await row<{ count: number }>(
    em,
    `with gone as (
       delete from idempotency_keys where id in (select id from idempotency_keys where expires_at <= now() limit ?) returning 1
     )
     select count(*)::int as count from gone`,
    [limit],
  );
  return swept?.count ?? 0;
}
