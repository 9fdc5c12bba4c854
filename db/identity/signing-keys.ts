import { createPrivateKey, createPublicKey, generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto';
import { newId } from '../ids.ts';
import type { Databases } from '../orm.ts';
import { change, rows } from '../sql.ts';
import { open, seal } from '../tenancy/envelope.ts';
import { systemActor, transact } from '../transaction.ts';
import type { Unit } from '../unit.ts';
import type { KeyRing } from './key-ring.ts';

/** The keys that sign access tokens, read from the database and kept for a while. */
export interface SigningKeys {
  /** Makes the first key when there is none, and reads them. Safe in any number of processes at once. */
  ensure(): Promise<void>;
  current(): Promise<{ kid: string; privateKey: KeyObject }>;
  /** The public key of a kid; null when it is unknown. An unknown kid makes the keys be read again, at most every five seconds. */
  publicKey(kid: string): Promise<KeyObject | null>;
}

interface Loaded {
  readonly at: number;
  readonly publicKeys: ReadonlyMap<string, KeyObject>;
  readonly current: { readonly kid: string; readonly privateKey: KeyObject } | null;
}

interface SigningKeyRow {
  readonly kid: string;
  readonly state: 'next' | 'current' | 'retired';
  readonly public_jwk: JsonWebKey;
  readonly private_enc: Buffer;
}

// A retired key is published for an hour: reading anew every ten minutes keeps every token inside that.
const rereadMs = 600_000;
const unknownKidRereadMs = 5_000;

export function createSigningKeys({ db, keys, now }: { db: Databases; keys: KeyRing; now: () => Date }): SigningKeys {
  let loaded: Loaded | null = null;
  let loading: Promise<Loaded> | null = null;

  const load = async (): Promise<Loaded> => {
    loading ??= readKeys(db, keys, now()).finally(() => {
      loading = null;
    });
    loaded = await loading;
    return loaded;
  };
  const age = (): number => (loaded ? now().getTime() - loaded.at : Number.POSITIVE_INFINITY);

  return {
    async ensure() {
      await makeFirstKey(db, keys);
      await load();
    },
    async current() {
      // A stale answer serves while it is read anew: the caller may hold a connection, and must not wait for a second one.
      if (loaded && age() >= rereadMs) load().catch(() => undefined);
      const { current } = loaded ?? (await load());

      if (!current) throw new Error('there is no signing key');
      return current;
    },
    async publicKey(kid) {
      const known = loaded?.publicKeys.get(kid);

      if (known && age() < rereadMs) return known;
      if (!known && age() < unknownKidRereadMs) return null;
      return (await load()).publicKeys.get(kid) ?? null;
    },
  };
}

/** Makes the deployment's first signing key. Of several processes that start at once one succeeds. */
async function makeFirstKey(db: Databases, keys: KeyRing): Promise<void> {
  await asPlatform(db, async (unit) => {
    const [existing] = await rows<{ kid: string }>(unit.em, "select kid from signing_keys where state = 'current'");

    if (existing) return;
    const kid = newId();
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const sealed = await seal(unit.em, keys, envelopeOf(kid), privateKey.export({ format: 'der', type: 'pkcs8' }));

    await change(
      unit.em,
      `insert into signing_keys (kid, public_jwk, private_enc, state, current_at) values (?, ?::jsonb, ?, 'current', now())
      on conflict (state) where state = 'current' do nothing`,
      [kid, JSON.stringify(publicKey.export({ format: 'jwk' })), sealed],
    );
  });
}

async function readKeys(db: Databases, keys: KeyRing, at: Date): Promise<Loaded> {
  return asPlatform(db, async (unit) => {
    const found = await rows<SigningKeyRow>(
      unit.em,
      `select kid, state, public_jwk, private_enc from signing_keys
      where state <> 'retired' or retired_at > now() - interval '1 hour'`,
    );
    const publicKeys = new Map(found.map((key) => [key.kid, createPublicKey({ key: key.public_jwk, format: 'jwk' })]));
    const current = found.find((key) => key.state === 'current');

    if (!current) return { at: at.getTime(), publicKeys, current: null };
    const der = await open(unit.em, keys, envelopeOf(current.kid), current.private_enc);

    return {
      at: at.getTime(),
      publicKeys,
      current: { kid: current.kid, privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) },
    };
  });
}

// Binds the sealed key to its row.
function envelopeOf(kid: string) {
  return { organizationId: null, aad: ['signing_keys', kid] };
}

async function asPlatform<R>(db: Databases, work: (unit: Unit) => Promise<R>): Promise<R> {
  const tenant = { organizationId: null, userId: null, workspaceIds: [], hasAllWorkspaces: false, isOperator: true };
  const { value } = await transact(db, { tenant, actor: systemActor, correlationId: newId() }, work);

  return value;
}
