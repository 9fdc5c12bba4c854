import { generateKeyPairSync } from 'node:crypto';
import { writeAudit } from '../../../db/audit/audit.ts';
import { newId } from '../../../db/ids.ts';
import type { Databases } from '../../../db/databases.ts';
import { encrypt } from '../../../db/envelope.ts';
import { systemActor, transact } from '../../../db/transaction.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { KeyRing } from '../../../db/key-ring.ts';
import {
  hasCurrentKey,
  lockSigningKeys,
  dropRetired,
  readKeyAges,
  dropNext,
  retireCurrent,
  makeCurrent,
  envelopeOf,
  insertSigningKey,
} from '../../../db/identity/keys/signing-key-rows.ts';

/** What one check of the signing keys has changed. */
export type KeyRotation = 'none' | 'published' | 'replaced';

/** Creates the deployment's first signing key. Of several processes that start at once one succeeds. */
export async function makeFirstKey(db: Databases, keys: KeyRing): Promise<void> {
  await asPlatform(db, async (tx) => {
    if (await hasCurrentKey(tx)) return;

    await insertKey(tx, keys, 'current');
  });
}

/**
 * Rotates the keys as far as due by the rows alone, so that a missed day is made up for and a repeated one changes nothing: after 90 days a successor is
 * published, a day later it signs and the old key retires. A retired key is published for an hour and retained for a week.
 */
export async function rotateSigningKeys(db: Databases, keys: KeyRing): Promise<KeyRotation> {
  return asPlatform(db, async (tx) => {
    await lockSigningKeys(tx);
    await dropRetired(tx);
    const ages = await readKeyAges(tx);

    if (ages?.next && ages.isNextKnown) return replaceCurrent(tx, ages.next);
    if (ages?.next || !ages?.isDue) return 'none';
    const kid = await insertKey(tx, keys, 'next');
    await record(tx, 'create', kid, { state: { to: 'next' } });
    return 'published';
  });
}

/**
 * Replaces the signing key at once (every process has the new one within a minute); the old one retires, and a waiting successor is dropped. Returns the new
 * kid.
 */
export async function replaceSigningKey(db: Databases, keys: KeyRing): Promise<string> {
  return asPlatform(db, async (tx) => {
    await lockSigningKeys(tx);
    await dropNext(tx);
    const kid = await insertKey(tx, keys, 'next');

    await replaceCurrent(tx, kid);
    return kid;
  });
}

async function replaceCurrent(tx: TenantTransaction, kid: string): Promise<KeyRotation> {
  const old = await retireCurrent(tx);

  await makeCurrent(tx, kid);
  await record(tx, 'update', kid, { state: { to: 'current' }, replaces: { to: old } });
  return 'replaced';
}

async function insertKey(tx: TenantTransaction, keys: KeyRing, state: 'current' | 'next'): Promise<string> {
  const kid = newId();
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const encrypted = await encrypt(tx.em, keys, envelopeOf(kid), privateKey.export({ format: 'der', type: 'pkcs8' }));

  await insertSigningKey(tx, { kid, publicJwk: publicKey.export({ format: 'jwk' }), encrypted, state });
  return kid;
}

/** Runs a transaction of the deployment itself. */
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
