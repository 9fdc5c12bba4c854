import type { JsonWebKey } from 'node:crypto';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** The ages of the keys, as far as rotation depends on them. */
export interface KeyAges {
  readonly next: string | null;
  /** The successor has been published for a day. */
  readonly is_next_known: boolean;
  /** The current key has signed for 90 days. */
  readonly is_due: boolean;
}

/** Serializes rotations; the lock is released at the end of the transaction. */
export async function lockSigningKeys(tx: TenantTransaction): Promise<void> {
  await row(tx.em, "select pg_advisory_xact_lock(hashtext('signing_keys'))");
}

/** Whether there is a key that signs. */
export async function hasCurrentKey(tx: TenantTransaction): Promise<boolean> {
  return (await row(tx.em, "select kid from signing_keys where state = 'current'")) !== null;
}

/** Deletes keys that retired over a week ago. */
export async function dropRetired(tx: TenantTransaction): Promise<void> {
  await change(tx.em, "delete from signing_keys where state = 'retired' and retired_at < now() - interval '7 days'");
}

/** Deletes a successor that does not sign yet. */
export async function dropNext(tx: TenantTransaction): Promise<void> {
  await change(tx.em, "delete from signing_keys where state = 'next'");
}

/** Returns which steps of the rotation are due by the ages of the keys. */
export function readKeyAges(tx: TenantTransaction): Promise<KeyAges | null> {
  return row<KeyAges>(
    tx.em,
    `select n.kid as next, coalesce(n.created_at <= now() - interval '24 hours', false) as is_next_known,
         coalesce(c.current_at <= now() - interval '90 days', true) as is_due
       from (select) one
       left join signing_keys n on n.state = 'next'
       left join signing_keys c on c.state = 'current'
       order by n.created_at limit 1`,
  );
}

/** Retires the key that signs; returns its kid, or null when there was none. */
export async function retireCurrent(tx: TenantTransaction): Promise<string | null> {
  const old = await row<{ kid: string }>(
    tx.em,
    "update signing_keys set state = 'retired', retired_at = now() where state = 'current' returning kid",
  );
  return old?.kid ?? null;
}

/** Makes a key the one that signs. */
export async function makeCurrent(tx: TenantTransaction, kid: string): Promise<void> {
  await change(tx.em, "update signing_keys set state = 'current', current_at = now() where kid = ?", [kid]);
}

/** A key as it is stored. */
export interface NewSigningKey {
  readonly kid: string;
  readonly publicJwk: JsonWebKey;
  readonly sealed: Buffer;
  readonly state: 'current' | 'next';
}

/** Stores a key. If several are made current at once, the first stays. */
export async function insertSigningKey(tx: TenantTransaction, { kid, publicJwk, sealed, state }: NewSigningKey): Promise<void> {
  await change(
    tx.em,
    `insert into signing_keys (kid, public_jwk, private_enc, state, created_at, current_at)
    values (?, ?::jsonb, ?, ?, now(), case when ? = 'current' then now() end)
    on conflict (state) where state = 'current' do nothing`,
    [kid, JSON.stringify(publicJwk), sealed, state, state],
  );
}

/** Binds an encrypted key to its row. */
export function envelopeOf(kid: string) {
  return { organizationId: null, aad: ['signing_keys', kid] as const };
}

interface SigningKeyRow {
  readonly kid: string;
  readonly public_jwk: JsonWebKey;
  readonly private_enc: Buffer;
  readonly signs: boolean;
}

/**
 * A key that became current without having been published first signs only once every verifier has had time to read it (`unknownKidRereadMs`): until then its
 * predecessor signs.
 */
const selectSql = `
  select kid, public_jwk, private_enc,
    kid = (
      select k.kid from signing_keys k
      where k.state = 'current' or (k.state = 'retired' and k.retired_at > now() - interval '10 seconds')
      order by
        (k.state = 'current' and (k.current_at - k.created_at > interval '10 seconds' or k.current_at <= now() - interval '10 seconds')) desc,
        k.state = 'retired' desc, k.retired_at desc
      limit 1) as signs
  from signing_keys
  where state <> 'retired' or retired_at > now() - interval '1 hour'
  order by kid desc`;

/** Returns the published keys, newest first, and which of them signs now. */
export function listSigningKeys(em: TenantTransaction['em']): Promise<SigningKeyRow[]> {
  return rows<SigningKeyRow>(em, selectSql);
}
