import { generateKeyPairSync } from 'node:crypto';
import { writeAudit } from '../audit/audit.ts';
import { newId } from '../ids.ts';
import type { Databases } from '../databases.ts';
import { change, row } from '../sql.ts';
import { seal } from '../tenancy/envelope.ts';
import { systemActor, transact } from '../transaction.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { KeyRing } from './key-ring.ts';

/** What one look at the signing keys has changed. */
export type KeyTurn = 'none' | 'published' | 'replaced';

interface KeyAges {
  readonly next: string | null;
  /** The successor has been published for a day. */
  readonly is_next_known: boolean;
  /** The present key has signed for 90 days. */
  readonly is_due: boolean;
}

/** One turn at a time; the transaction's end lets go of it. */
const lock = "select pg_advisory_xact_lock(hashtext('signing_keys'))";

/** Makes the deployment's first signing key. Of several processes that start at once one succeeds. */
export async function makeFirstKey(db: Databases, keys: KeyRing): Promise<void> {
  await asPlatform(db, async (tx) => {
    if (await row(tx.em, "select kid from signing_keys where state = 'current'")) return;

    await insertKey(tx, keys, 'current');
  });
}

/**
 * Does what is due by the rows alone, so that a missed day is made up for and a repeated one changes nothing: after 90 days a successor
 * is published, a day later it signs and the old key retires. A retired key is shown for an hour and kept for a week.
 */
export async function turnSigningKeys(db: Databases, keys: KeyRing): Promise<KeyTurn> {
  return asPlatform(db, async (tx) => {
    await row(tx.em, lock);
    await change(tx.em, "delete from signing_keys where state = 'retired' and retired_at < now() - interval '7 days'");
    const ages = await row<KeyAges>(
      tx.em,
      `select n.kid as next, coalesce(n.created_at <= now() - interval '24 hours', false) as is_next_known,
         coalesce(c.current_at <= now() - interval '90 days', true) as is_due
       from (select) one
       left join signing_keys n on n.state = 'next'
       left join signing_keys c on c.state = 'current'
       order by n.created_at limit 1`,
    );

    if (ages?.next && ages.is_next_known) return replaceCurrent(tx, ages.next);
    if (ages?.next || !ages?.is_due) return 'none';
    const kid = await insertKey(tx, keys, 'next');
    await record(tx, 'create', kid, { state: { to: 'next' } });
    return 'published';
  });
}

/** A new key signs at once (every process has it within a minute), the old one retires; a successor in waiting is dropped. Gives its kid. */
export async function replaceSigningKey(db: Databases, keys: KeyRing): Promise<string> {
  return asPlatform(db, async (tx) => {
    await row(tx.em, lock);
    await change(tx.em, "delete from signing_keys where state = 'next'");
    const kid = await insertKey(tx, keys, 'next');

    await replaceCurrent(tx, kid);
    return kid;
  });
}

async function replaceCurrent(tx: TenantTransaction, kid: string): Promise<KeyTurn> {
  const old = await row<{ kid: string }>(
    tx.em,
    "update signing_keys set state = 'retired', retired_at = now() where state = 'current' returning kid",
  );

  await change(tx.em, "update signing_keys set state = 'current', current_at = now() where kid = ?", [kid]);
  await record(tx, 'update', kid, { state: { to: 'current' }, replaces: { to: old?.kid ?? null } });
  return 'replaced';
}

async function insertKey(tx: TenantTransaction, keys: KeyRing, state: 'current' | 'next'): Promise<string> {
  const kid = newId();
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const sealed = await seal(tx.em, keys, envelopeOf(kid), privateKey.export({ format: 'der', type: 'pkcs8' }));

  await change(
    tx.em,
    `insert into signing_keys (kid, public_jwk, private_enc, state, created_at, current_at)
    values (?, ?::jsonb, ?, ?, now(), case when ? = 'current' then now() end)
    on conflict (state) where state = 'current' do nothing`,
    [kid, JSON.stringify(publicKey.export({ format: 'jwk' })), sealed, state, state],
  );
  return kid;
}

/** Binds a sealed key to its row. */
export function envelopeOf(kid: string) {
  return { organizationId: null, aad: ['signing_keys', kid] as const };
}

/** A transaction of the deployment itself. */
export async function asPlatform<R>(db: Databases, work: (tx: TenantTransaction) => Promise<R>): Promise<R> {
  const tenant = { organizationId: null, userId: null, workspaceIds: [], hasAllWorkspaces: false, isOperator: true };
  const { value } = await transact(db, { tenant, actor: systemActor, correlationId: newId() }, work);

  return value;
}

async function record(
  tx: TenantTransaction,
  action: 'create' | 'update',
  kid: string,
  changes: Readonly<Record<string, { readonly to: string | null }>>,
): Promise<void> {
  await writeAudit(tx, {
    action,
    operationId: null,
    note: { resourceType: 'signing_key', resourceId: kid, label: kid, changes },
    ip: null,
    userAgent: null,
  });
}
