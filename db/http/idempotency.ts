import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type ExpressionBuilder, sql } from 'kysely';
import { now } from '../expressions.ts';
import { newId } from '../ids.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change, queueStatement, row } from '../sql.ts';
import type { Tables } from '../table-types.ts';
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
export type IdempotencyRow = NonNullable<Awaited<ReturnType<typeof reserveKey>>>;

export interface StoredReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly bodyKeyId: string | null;
  /** Rows whose views the body contains: erasing one of them finds the reply by it. */
  readonly shownIds: readonly string[];
}

/** How long a request holds its key, in seconds. */
export const leaseSeconds = 90;
const keepHours = 24;
const leaseEnd = sql<string>`clock_timestamp() + make_interval(secs => ${sql.lit(leaseSeconds)})`;

interface KeyRow extends KeySpace {
  readonly id: string;
  readonly fingerprint: Buffer;
}

const columns = ['id', 'fingerprint', 'state', 'status', 'headers', 'body', 'bodyKeyId'] as const;

/** What a request needs to know of the times of a row. */
function timesOf({ ref }: ExpressionBuilder<Tables, 'idempotency_keys'>) {
  return [
    sql<string | null>`${ref('leaseUntil')}::text`.as('leaseUntil'),
    sql<boolean>`coalesce(${ref('leaseUntil')} < clock_timestamp(), false)`.as('isLeaseOver'),
    sql<number>`coalesce(ceil(extract(epoch from ${ref('leaseUntil')} - clock_timestamp())), 0)::int`.as('leaseLeftS'),
    sql<boolean>`${ref('expiresAt')} <= clock_timestamp()`.as('isExpired'),
  ] as const;
}

function existingKey(key: ParametersOf<KeySpace>) {
  return query
    .selectFrom('idempotency_keys')
    .select(columns)
    .select(timesOf)
    .select(sql<boolean>`false`.as('isMine'))
    .where('organizationId', 'is not distinct from', key.organizationId)
    .where('workspaceId', 'is not distinct from', key.workspaceId)
    .where('principalKind', '=', key.principalKind)
    .where('principalId', '=', key.principalId)
    .where('actingUserId', 'is not distinct from', key.actingUserId)
    .where('method', '=', key.method)
    .where('route', '=', key.route)
    .where('key', '=', key.key);
}

const reserving = prepared((key: ParametersOf<KeyRow>) =>
  query
    .with('mine', (of) =>
      of
        .insertInto('idempotency_keys')
        .values({
          ...key,
          state: 'running',
          status: null,
          headers: null,
          body: null,
          bodyKeyId: null,
          shownIds: sql<string[]>`'{}'`,
          leaseUntil: leaseEnd,
          createdAt: now,
          expiresAt: sql<string>`now() + make_interval(hours => ${sql.lit(keepHours)})`,
        })
        .onConflict((conflict) => conflict.doNothing())
        .returning(columns)
        .returning(timesOf),
    )
    .selectFrom('mine')
    .select([...columns, 'leaseUntil', 'isLeaseOver', 'leaseLeftS', 'isExpired', sql<boolean>`true`.as('isMine')])
    .unionAll(existingKey(key)),
);

/** Inserts the row or reads the existing one, in one statement. Returns null when a rival's row was committed after the statement's snapshot: call it again. */
export function reserveKey(em: SqlEntityManager, scope: KeySpace, fingerprint: Buffer) {
  const { organizationId, workspaceId, principalKind, principalId, actingUserId, method, route, key } = scope;
  const space = { organizationId, workspaceId, principalKind, principalId, actingUserId, method, route, key };
  return row(em, reserving({ id: newId(), ...space, fingerprint }));
}

/** A key under the lease of a request. */
interface Leased {
  readonly id: string;
  readonly lease: string;
}

/** The key while its request has this lease. */
function underLease({ id, lease }: ParametersOf<Leased>) {
  return ({ and }: ExpressionBuilder<Tables, 'idempotency_keys'>) =>
    and({ id, state: 'running', leaseUntil: sql<string>`${lease}::timestamptz` });
}

const takingOver = prepared((leased: ParametersOf<Leased>) =>
  query
    .updateTable('idempotency_keys')
    .set({ leaseUntil: leaseEnd })
    .where(underLease(leased))
    .returning(({ ref }) => sql<string>`${ref('leaseUntil')}::text`.as('lease')),
);

/** Takes over an expired lease; returns the new lease, or null when a rival was faster. */
export async function takeOverLease(em: SqlEntityManager, id: string, oldLease: string): Promise<string | null> {
  const taken = await row(em, takingOver({ id, lease: oldLease }));
  return taken?.lease ?? null;
}

interface LeasedReply extends Leased, Omit<StoredReply, 'headers'> {
  /** JSON. */
  readonly headers: string;
  readonly isFinal: true | undefined;
}

function storeUnderLease({ status, headers, body, bodyKeyId, shownIds, isFinal, ...leased }: ParametersOf<LeasedReply>) {
  const reply = {
    status,
    headers: sql<Record<string, string>>`${headers}::jsonb`,
    body,
    bodyKeyId,
    shownIds: sql<string[]>`${shownIds}::uuid[]`,
  };
  return query
    .updateTable('idempotency_keys')
    .set(isFinal ? { ...reply, ...done } : reply)
    .where(underLease(leased))
    .returning('id');
}

const done = { state: 'done', leaseUntil: null } as const;

const storing = prepared((reply: ParametersOf<LeasedReply>) => storeUnderLease(reply));

/**
 * Stores a reply under the request's own lease, unless another request has taken the lease over. With `isFinal` false the lease stays, and the stored reply is
 * a stand-in.
 */
export async function storeReply(em: SqlEntityManager, id: string, lease: string, stored: StoredReply, isFinal: boolean): Promise<void> {
  await change(em, storing(leasedReply({ id, lease }, stored, isFinal)));
}

const storingOrRefusing = prepared((reply: ParametersOf<LeasedReply>) =>
  query
    .with('stored', () => storeUnderLease(reply))
    .selectNoFrom(sql`app_refuse('LH409', case when not exists (select from stored) then 'lease_lost' end)`.as('refused')),
);

/** The same with the transaction's next statement or its commit; refuses the whole transaction (409) when another request has taken the lease over. */
export async function queueReply(em: SqlEntityManager, id: string, lease: string, stored: StoredReply, isFinal: boolean): Promise<void> {
  await queueStatement(em, storingOrRefusing(leasedReply({ id, lease }, stored, isFinal)));
}

function leasedReply({ id, lease }: Leased, { status, headers, body, bodyKeyId, shownIds }: StoredReply, isFinal: boolean): LeasedReply {
  const shown = { headers: JSON.stringify(headers), shownIds: [...shownIds], isFinal: isFinal || undefined };
  return { id, lease, status, body, bodyKeyId, ...shown };
}

const deleting = prepared((leased: ParametersOf<Leased>) =>
  query.deleteFrom('idempotency_keys').where(underLease(leased)).where('status', 'is', null),
);

/** Deletes the key of a request under its own lease if nothing is stored for it. Returns false when it stays. */
export async function deleteUnstored(em: SqlEntityManager, id: string, lease: string): Promise<boolean> {
  return (await change(em, deleting({ id, lease }))) > 0;
}

const settling = prepared((leased: ParametersOf<Leased>) =>
  query.updateTable('idempotency_keys').set(done).where(underLease(leased)).where('status', 'is not', null),
);

/** Makes the stand-in final: the reply that should have replaced it failed, but the effect of the request stays. */
export async function settleStandIn(em: SqlEntityManager, id: string, lease: string): Promise<void> {
  await change(em, settling({ id, lease }));
}

const removingExpired = prepared(({ id }: ParametersOf<{ readonly id: string }>) =>
  query
    .deleteFrom('idempotency_keys')
    .where('id', '=', id)
    .where('expiresAt', '<=', sql<string>`clock_timestamp()`),
);

/** Removes an expired row that the sweep has not reached yet. */
export async function removeExpiredKey(em: SqlEntityManager, id: string): Promise<void> {
  await change(em, removingExpired({ id }));
}

const forgetting = prepared(({ ids, gone }: ParametersOf<{ readonly ids: readonly string[]; readonly gone: string }>) =>
  query.selectNoFrom(sql<number>`gate_forget_replies(${ids}::uuid[], ${gone}::jsonb)`.as('forgotten')),
);

/**
 * Erases the stored replies that show rows being erased, and with a person those of their invitations: a key stays used, and its repeat is 404. In the reply to
 * a batch, only what shows a run is erased; `gone` is the error in its place. Goes with the transaction's next statement or its commit.
 */
export async function forgetReplies(tx: Pick<TenantTransaction, 'em'>, ids: readonly string[], gone: object = {}): Promise<void> {
  await queueStatement(tx.em, forgetting({ ids: [...ids], gone: JSON.stringify(gone) }));
}

/** The same in one organization on the sweeper's pool. */
export async function sweepReplies(em: SqlEntityManager, organizationId: string, ids: readonly string[]): Promise<void> {
  const own = '(k.organization_id = ?::uuid or k.organization_id is null)';
  // The text is that of the definer function, too.
  await row(em, forgetSql({ ids: '?::uuid[]', gone: "'{}'::jsonb", own }), [[...ids], organizationId]);
}

/** Deletes at most `limit` expired rows; returns how many. For the sweeper. */
export async function sweepIdempotencyKeys(em: SqlEntityManager, limit: number): Promise<number> {
  const expired = query.selectFrom('idempotency_keys').select('id').where('expiresAt', '<=', now).limit(limit);
  const swept = await row(
    em,
    query
      .with('gone', (of) => of.deleteFrom('idempotency_keys').where('id', 'in', expired).returning('id'))
      .selectFrom('gone')
      .select(sql<number>`count(*)::int`.as('count')),
  );
  return swept?.count ?? 0;
}
