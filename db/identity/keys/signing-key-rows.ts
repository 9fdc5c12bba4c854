import type { JsonWebKey } from 'node:crypto';
import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Serializes rotations; the lock is released at the end of the transaction. */
export async function lockSigningKeys(tx: TenantTransaction): Promise<void> {
  await row(tx.em, query.selectNoFrom(sql<unknown>`pg_advisory_xact_lock(hashtext('signing_keys'))`.as('locked')));
}

/** Whether there is a key that signs. */
export async function hasCurrentKey(tx: TenantTransaction): Promise<boolean> {
  return (await row(tx.em, query.selectFrom('signing_keys').select('kid').where('state', '=', 'current'))) !== null;
}

/** Deletes keys that retired over a week ago. */
export async function dropRetired(tx: TenantTransaction): Promise<void> {
  const aWeekAgo = sql<string>`now() - interval '7 days'`;
  await change(tx.em, query.deleteFrom('signing_keys').where('state', '=', 'retired').where('retiredAt', '<', aWeekAgo));
}

/** Deletes a successor that does not sign yet. */
export async function dropNext(tx: TenantTransaction): Promise<void> {
  await change(tx.em, query.deleteFrom('signing_keys').where('state', '=', 'next'));
}

/**
 * Returns which steps of the rotation are due by the ages of the keys. `next`: the kid of the successor; `isNextKnown`: it has been published for a day;
 * `isDue`: the current key has signed for 90 days.
 */
export async function readKeyAges(tx: TenantTransaction) {
  return row(
    tx.em,
    query
      .selectFrom(query.selectNoFrom(sql.lit(1).as('one')).as('one'))
      .leftJoin('signing_keys as n', (join) => join.on('n.state', '=', 'next'))
      .leftJoin('signing_keys as c', (join) => join.on('c.state', '=', 'current'))
      .select(({ ref }) => [
        'n.kid as next',
        sql<boolean>`coalesce(${ref('n.createdAt')} <= now() - interval '24 hours', false)`.as('isNextKnown'),
        sql<boolean>`coalesce(${ref('c.currentAt')} <= now() - interval '90 days', true)`.as('isDue'),
      ])
      .orderBy('n.createdAt')
      .limit(1),
  );
}

/** Retires the key that signs; returns its kid, or null when there was none. */
export async function retireCurrent(tx: TenantTransaction): Promise<string | null> {
  const old = await row(
    tx.em,
    query.updateTable('signing_keys').set({ state: 'retired', retiredAt: now }).where('state', '=', 'current').returning('kid'),
  );
  return old?.kid ?? null;
}

/** Makes a key the one that signs. */
export async function makeCurrent(tx: TenantTransaction, kid: string): Promise<void> {
  await change(tx.em, query.updateTable('signing_keys').set({ state: 'current', currentAt: now }).where('kid', '=', kid));
}

/** A key as it is stored. */
export interface NewSigningKey {
  readonly kid: string;
  readonly publicJwk: JsonWebKey;
  readonly encrypted: Buffer;
  readonly state: 'current' | 'next';
}

/** Stores a key. If several are made current at once, the first stays. */
export async function insertSigningKey(tx: TenantTransaction, { kid, publicJwk, encrypted, state }: NewSigningKey): Promise<void> {
  await change(
    tx.em,
    query
      .insertInto('signing_keys')
      .values({
        kid,
        publicJwk: { ...publicJwk },
        privateEnc: encrypted,
        state,
        createdAt: now,
        currentAt: state === 'current' ? now : null,
      })
      .onConflict((conflict) => conflict.column('state').where('state', '=', sql.lit('current')).doNothing()),
  );
}

/** Binds an encrypted key to its row. */
export function envelopeOf(kid: string) {
  return { organizationId: null, aad: ['signing_keys', kid] as const };
}

/**
 * Returns the published keys, newest first, and which of them signs now. A key that became current without having been published first signs only once every
 * verifier has had time to read it (`unknownKidRereadMs`): until then its predecessor signs.
 */
export async function listSigningKeys(em: TenantTransaction['em']) {
  const signs = sql<boolean>`kid = (
    select k.kid from signing_keys k
    where k.state = 'current' or (k.state = 'retired' and k.retired_at > now() - interval '10 seconds')
    order by
      (k.state = 'current' and (k.current_at - k.created_at > interval '10 seconds' or k.current_at <= now() - interval '10 seconds')) desc,
      k.state = 'retired' desc, k.retired_at desc
    limit 1)`;
  return rows(
    em,
    query
      .selectFrom('signing_keys')
      .select(['kid', 'publicJwk', 'privateEnc', signs.as('signs')])
      .where(({ eb, or }) => or([eb('state', '<>', 'retired'), eb('retiredAt', '>', sql<string>`now() - interval '1 hour'`)]))
      .orderBy('kid', 'desc'),
  );
}
