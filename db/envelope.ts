import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { KeyRing } from './key-ring.ts';
import { newId } from './ids.ts';
import { prepared, type ParametersOf } from './prepared.ts';
import { query } from './query.ts';
import { row, rows } from './sql.ts';
import { insertDataKey, retireDataKey, writeWrapped } from './tenancy/keys/data-keys.ts';

/** The deployment keys, newest first. */
export type Keks = Pick<KeyRing, 'keks'>;

/** Every table that holds envelopes. `encrypted-columns.ts` says how the binding of each is made, so that all can be found again. */
export const encryptedTables = [
  'secrets',
  'totp_factors',
  'signing_keys',
  'idempotency_keys',
  'mcp_connections',
  'mcp_authorizations',
  'webhook_endpoints',
  'channels',
  'channel_messages',
] as const;
export type EncryptedTable = (typeof encryptedTables)[number];

/** Where an encrypted value belongs: it can be decrypted there and nowhere else. */
export interface Binding {
  /** The organization whose data key is used; null: the platform's own. */
  readonly organizationId: string | null;
  /** The table and what identifies the value in it: `['secrets', workspaceId, name, version]`. */
  readonly aad: readonly [EncryptedTable, ...(string | number | null)[]];
}

/** A data key as it is stored. */
export type StoredKey = NonNullable<Awaited<ReturnType<typeof findLive>>>;

/** A data key as definer functions return it: `wrapped` is hex. */
export interface FoundDataKey {
  readonly id: string;
  readonly organization_id: string | null;
  readonly wrapped: string;
  readonly kek_id: string;
}

interface DataKey {
  readonly id: string;
  readonly secret: Buffer;
}

/** An envelope was changed, or lies where it was not encrypted for. */
export class EnvelopeError extends Error {
  override readonly name = 'EnvelopeError';
}

/** The deployment keys of this process are not those under which the database's data keys are wrapped. The message names ids, never a key. */
export class OtherKeksError extends Error {
  override readonly name = 'OtherKeksError';
}

const algorithm = 'aes-256-gcm';
const formatVersion = 1;
const keyIdBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + keyIdBytes;
const storedColumns = ['id', 'organizationId', 'wrapped', 'kekId'] as const;
/**
 * One of the platform's data keys per deployment key that wraps any: a tenant's lost key must not stop all the others. A text, because `longhaul migrate` sends
 * it through a bare connection, before the deployment's roles can log in.
 */
export const dataKeySamples = `select distinct on (kek_id) id, organization_id as "organizationId", wrapped, kek_id as "kekId"
  from data_keys where organization_id is null order by kek_id, id desc`;

/**
 * Encrypts a secret under the data key of its organization (made on first use): version ‖ key id ‖ nonce ‖ ciphertext ‖ tag. Runs in a transaction that sees
 * the organization's keys.
 */
export async function encrypt(em: SqlEntityManager, keys: Keks, binding: Binding, plaintext: Buffer): Promise<Buffer> {
  const key = await liveKey(em, keys, binding.organizationId);
  const head = Buffer.concat([Buffer.from([formatVersion]), bytesOfId(key.id)]);
  return Buffer.concat([head, encryptBytes(key.secret, plaintext, boundTo(binding, head))]);
}

const storedKey = prepared(({ id }: ParametersOf<{ readonly id: string }>) =>
  query.selectFrom('data_keys').select(storedColumns).where('id', '=', id),
);

/**
 * Decrypts what `encrypt` returned for the same binding. Throws EnvelopeError when the envelope was changed or moved elsewhere, and another error when the
 * deployment key is missing: both are faults of the deployment, never a caller's.
 */
export async function decrypt(em: SqlEntityManager, keys: Keks, binding: Binding, envelope: Buffer): Promise<Buffer> {
  if (envelope.length < headBytes + nonceBytes + tagBytes || envelope[0] !== formatVersion) throw new EnvelopeError('Not an envelope');
  const stored = await row(em, storedKey({ id: keyIdOf(envelope) }));
  if (!stored) throw new Error('The data key of an envelope is gone');
  return decryptStored(stored, keys, binding, envelope);
}

/** The same with the data key at hand, for callers that have no tenant yet. */
export function decryptWith(found: FoundDataKey, keys: Keks, binding: Binding, envelope: Buffer): Buffer {
  const stored = {
    id: found.id,
    organizationId: found.organization_id,
    wrapped: Buffer.from(found.wrapped, 'hex'),
    kekId: found.kek_id,
  };
  return decryptStored(stored, keys, binding, envelope);
}

function decryptStored(stored: StoredKey, keys: Keks, binding: Binding, envelope: Buffer): Buffer {
  if (envelope.length < headBytes + nonceBytes + tagBytes || envelope[0] !== formatVersion) throw new EnvelopeError('Not an envelope');
  const { secret } = unwrap(keys, stored);
  try {
    return decryptBytes(secret, envelope.subarray(headBytes), boundTo(binding, envelope.subarray(0, headBytes)));
  } catch (cause) {
    throw new EnvelopeError('An envelope does not open in its place', { cause });
  }
}

/** Returns the id of the data key under which an envelope was encrypted. */
export function keyIdOf(envelope: Buffer): string {
  const hex = envelope.toString('hex', 1, headBytes);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/**
 * Retires the live data keys made before `before`, at most `limit` per call, and replaces each by a new one; returns how many. New values are encrypted under
 * the new key, and the old one still decrypts. Sweeper's pool.
 */
export async function renewDataKeys(
  em: SqlEntityManager,
  keys: Keks,
  { before, limit }: { readonly before: string; readonly limit: number },
): Promise<number> {
  const old = await rows(
    em,
    query
      .selectFrom('data_keys')
      .select(storedColumns)
      .where('retiredAt', 'is', null)
      .where('createdAt', '<', sql<string>`${before}::timestamptz`)
      .orderBy('id')
      .limit(limit)
      .forUpdate(),
  );
  for (const { id, organizationId } of old) {
    await retireDataKey(em, id);
    await insertKey(em, keys, organizationId);
  }
  return old.length;
}

/**
 * Checks that the deployment keys unwrap rows of `dataKeySamples`.
 * @throws OtherKeksError when one is missing or is another of the same id.
 */
export function refuseOtherKeksOf(samples: readonly StoredKey[], keys: Keks): void {
  for (const sample of samples) unwrap(keys, sample);
}

/** Rewraps data keys under the newest deployment key, at most `limit` per call; returns how many. May be stopped and run again. Sweeper's pool. */
export async function rewrapDataKeys(em: SqlEntityManager, keys: Keks, limit: number): Promise<number> {
  const [newest] = keys.keks;
  const stored = await rows(
    em,
    query.selectFrom('data_keys').select(storedColumns).where('kekId', '<>', newest.id).orderBy('id').limit(limit).forUpdate(),
  );
  for (const old of stored) {
    const { secret } = unwrap(keys, old);
    await writeWrapped(em, { id: old.id, wrapped: wrap(keys, old.id, old.organizationId, secret), kekId: newest.id });
  }
  return stored.length;
}

async function liveKey(em: SqlEntityManager, keys: Keks, organizationId: string | null): Promise<DataKey> {
  const found = await findLive(em, organizationId);
  if (found) return unwrap(keys, found);

  await insertKey(em, keys, organizationId);
  // Of two made at once the first commits; the other transaction waited for it and reads it here.
  const made = await findLive(em, organizationId);
  if (!made) throw new Error('A data key was made and is not visible: the transaction is of another tenant');
  return unwrap(keys, made);
}

async function insertKey(em: SqlEntityManager, keys: Keks, organizationId: string | null): Promise<void> {
  const id = newId();
  await insertDataKey(em, { id, organizationId, wrapped: wrap(keys, id, organizationId, randomBytes(32)), kekId: keys.keks[0].id });
}

// Two forms, since an index cannot serve `is not distinct from`.
const liveOf = prepared(({ organizationId }: ParametersOf<{ readonly organizationId: string | undefined }>) => {
  const live = query.selectFrom('data_keys').select(storedColumns).where('retiredAt', 'is', null);
  return organizationId ? live.where('organizationId', '=', organizationId) : live.where('organizationId', 'is', null);
});

async function findLive(em: SqlEntityManager, organizationId: string | null) {
  return row(em, liveOf({ organizationId: organizationId ?? undefined }));
}

function wrap(keys: Keks, id: string, organizationId: string | null, secret: Buffer): Buffer {
  return encryptBytes(keys.keks[0].secret, secret, encodeParts(['data_keys', id, organizationId]));
}

function unwrap(keys: Keks, stored: StoredKey): DataKey {
  const kek = keys.keks.find((key) => key.id === stored.kekId);
  if (!kek) throw new OtherKeksError(`LONGHAUL_KEKS lacks the key ${stored.kekId}, under which a data key is wrapped.`);
  try {
    return {
      id: stored.id,
      secret: decryptBytes(kek.secret, stored.wrapped, encodeParts(['data_keys', stored.id, stored.organizationId])),
    };
  } catch (cause) {
    throw new OtherKeksError(`The key ${stored.kekId} of LONGHAUL_KEKS is not the one with which this database was made.`, { cause });
  }
}

function encryptBytes(key: Buffer, plaintext: Buffer, aad: Buffer): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(aad);
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

function decryptBytes(key: Buffer, encrypted: Buffer, aad: Buffer): Buffer {
  const nonce = encrypted.subarray(0, nonceBytes);
  const tag = encrypted.subarray(-tagBytes);
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(aad).setAuthTag(tag);
  return Buffer.concat([decipher.update(encrypted.subarray(nonceBytes, -tagBytes)), decipher.final()]);
}

function boundTo({ organizationId, aad }: Binding, head: Buffer): Buffer {
  return Buffer.concat([head, encodeParts([organizationId, ...aad])]);
}

// Prefixes each part with its length, so that no two lists have the same encoding.
function encodeParts(parts: readonly (string | number | null)[]): Buffer {
  return Buffer.from(parts.map((part) => (part === null ? '-;' : `${Buffer.byteLength(String(part))}:${part};`)).join(''));
}

function bytesOfId(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}
