import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { Databases } from '../../../db/databases.ts';
import { decrypt } from '../../../db/envelope.ts';
import type { KeyRing } from '../../../db/key-ring.ts';
import { asPlatform, makeFirstKey } from './signing-key-rotation.ts';
import { envelopeOf, listSigningKeys } from '../../../db/identity/keys/signing-key-rows.ts';

/** The public half of a published key: the current one, its successor, or one that retired within the hour. */
export interface PublishedKey {
  readonly kid: string;
  /** An Ed25519 key of RFC 8037. */
  readonly jwk: JsonWebKey;
}

/** The keys that sign access tokens, read from the database and cached for a minute. */
export interface SigningKeys {
  /** Creates the first key when there is none, reads the keys, and reads them again every minute until `close`. Safe in any number of concurrent processes. */
  ensure(): Promise<void>;
  current(): Promise<{ kid: string; privateKey: KeyObject }>;
  /** The public key of a kid; null when it is unknown. An unknown kid makes the keys be read again, at most every five seconds. */
  publicKey(kid: string): Promise<KeyObject | null>;
  /** The keys of the published key set, newest first. */
  published(): Promise<readonly PublishedKey[]>;
  close(): void;
}

interface Loaded {
  readonly at: number;
  readonly publicKeys: ReadonlyMap<string, KeyObject>;
  readonly published: readonly PublishedKey[];
  readonly current: { readonly kid: string; readonly privateKey: KeyObject } | null;
}

// A retired key is published for an hour and a token lives ten minutes, so a process that still signs with the old key does no harm.
const rereadMs = 60_000;
/** Keys read longer ago than this are read again before use; that happens only when the timer was frozen, or the database was unavailable. */
const staleMs = 600_000;
const unknownKidRereadMs = 5_000;

export function createSigningKeys({ db, keys, now }: { db: Databases; keys: KeyRing; now: () => Date }): SigningKeys {
  let loaded: Loaded | null = null;
  let loading: Promise<Loaded> | null = null;
  let timer: NodeJS.Timeout | null = null;

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
      // Without the timer an idle process would resume with a key that has been retired for hours.
      timer ??= setInterval(() => load().catch(() => undefined), rereadMs).unref();
    },
    async current() {
      // Uses stale keys while they are read again: the caller may hold a connection, and must not wait for a second one.
      if (loaded && age() >= staleMs) load().catch(() => undefined);
      const { current } = loaded ?? (await load());

      if (!current) throw new Error('there is no signing key');
      return current;
    },
    async publicKey(kid) {
      const known = loaded?.publicKeys.get(kid);

      if (known && age() < staleMs) return known;
      if (!known && age() < unknownKidRereadMs) return null;
      return (await load()).publicKeys.get(kid) ?? null;
    },
    async published() {
      return (loaded && age() < staleMs ? loaded : await load()).published;
    },
    close() {
      if (timer) clearInterval(timer);
      timer = null;
    },
  };
}

async function readKeys(db: Databases, keys: KeyRing, at: Date): Promise<Loaded> {
  return asPlatform(db, async (tx) => {
    const found = await listSigningKeys(tx.em);
    const signing = found.find((key) => key.signs);
    const published = found.map(({ kid, publicJwk: jwk }) => ({ kid, jwk }));
    const publicKeys = new Map(published.map(({ kid, jwk }) => [kid, createPublicKey({ key: jwk, format: 'jwk' })]));

    if (!signing) return { at: at.getTime(), publicKeys, published, current: null };
    const der = await decrypt(tx.em, keys, envelopeOf(signing.kid), signing.privateEnc);
    const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });

    return { at: at.getTime(), publicKeys, published, current: { kid: signing.kid, privateKey } };
  });
}
