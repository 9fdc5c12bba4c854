import { randomBytes } from 'node:crypto';

/** A secret of 32 bytes and the id under which stored values name it. */
export interface NamedKey {
  readonly id: string;
  readonly secret: Buffer;
}

/** A list of keys, newest first: the first makes new values, all of them verify or decrypt old ones. */
export type KeyList = readonly [NamedKey, ...NamedKey[]];

/** The deployment's own keys. They live in the environment, never in the database. */
export interface KeyRing {
  /** Wrap the data keys of `db/envelope.ts`. */
  readonly keks: KeyList;
  /** Sign the cursors of lists. */
  readonly cursorKeys: KeyList;
  /** MACs the fingerprints of idempotent requests. */
  readonly idempotencyKey: NamedKey;
  /** MAC the plaintexts of service keys, and the accounts in `login_failures`. */
  readonly peppers: KeyList;
  /** Sign the tenant header of workflows. */
  readonly headerKeys: KeyList;
  /** Derive the tokens of mails from the ids of their outbox rows. */
  readonly mailKeys: KeyList;
  /** MAC the seals of the audit log. */
  readonly auditKeys: KeyList;
}

export const keyVariables = {
  keks: 'LONGHAUL_KEKS',
  cursorKeys: 'LONGHAUL_CURSOR_KEYS',
  idempotencyKey: 'LONGHAUL_IDEMPOTENCY_KEY',
  peppers: 'LONGHAUL_PEPPERS',
  headerKeys: 'LONGHAUL_HEADER_KEYS',
  mailKeys: 'LONGHAUL_MAIL_KEYS',
  auditKeys: 'LONGHAUL_AUDIT_KEYS',
} as const satisfies Record<keyof KeyRing, string>;

const keyPattern = /^([A-Za-z0-9_-]{1,16}):([A-Za-z0-9_-]{43})$/;

/** Unusable key variables: what is wrong, by name, never a value. */
export class KeyRingError extends Error {
  override readonly name = 'KeyRingError';
  readonly faults: ReadonlyMap<string, string>;

  constructor(faults: ReadonlyMap<string, string>) {
    super(`bad keys: ${[...faults].map(([variable, fault]) => `${variable}: ${fault}`).join('; ')}`);
    this.faults = faults;
  }
}

/** Reads the key variables, each `id:base64url[,id:base64url…]`; throws one KeyRingError that names every bad one. */
export function parseKeyRing(env: Readonly<Record<string, string | undefined>>): KeyRing {
  const faults = new Map<string, string>();
  const read = (variable: string): KeyList => {
    const parsed = parseKeyList(env[variable] ?? '');

    if (typeof parsed !== 'string') return parsed;
    faults.set(variable, parsed);
    return [{ id: '', secret: Buffer.alloc(32) }];
  };
  const ring: KeyRing = {
    keks: read(keyVariables.keks),
    cursorKeys: read(keyVariables.cursorKeys),
    idempotencyKey: read(keyVariables.idempotencyKey)[0],
    peppers: read(keyVariables.peppers),
    headerKeys: read(keyVariables.headerKeys),
    mailKeys: read(keyVariables.mailKeys),
    auditKeys: read(keyVariables.auditKeys),
  };

  if (faults.size > 0) throw new KeyRingError(faults);
  return Object.freeze(ring);
}

/** Returns new random keys, one per purpose: for tests and the first start. */
export function randomKeyRing(): KeyRing {
  const one = (): NamedKey => ({ id: randomBytes(4).toString('hex'), secret: randomBytes(32) });
  const ring: KeyRing = {
    keks: [one()],
    cursorKeys: [one()],
    idempotencyKey: one(),
    peppers: [one()],
    headerKeys: [one()],
    mailKeys: [one()],
    auditKeys: [one()],
  };

  return Object.freeze(ring);
}

/** Returns the ring as environment variables in the form that `parseKeyRing` reads. */
export function keyRingVariables(ring: KeyRing): Record<string, string> {
  const write = (keys: readonly NamedKey[]): string => keys.map((key) => `${key.id}:${key.secret.toString('base64url')}`).join(',');

  return {
    [keyVariables.keks]: write(ring.keks),
    [keyVariables.cursorKeys]: write(ring.cursorKeys),
    [keyVariables.idempotencyKey]: write([ring.idempotencyKey]),
    [keyVariables.peppers]: write(ring.peppers),
    [keyVariables.headerKeys]: write(ring.headerKeys),
    [keyVariables.mailKeys]: write(ring.mailKeys),
    [keyVariables.auditKeys]: write(ring.auditKeys),
  };
}

function parseKeyList(value: string): KeyList | string {
  if (value === '') return 'missing';
  const keys: NamedKey[] = [];

  for (const part of value.split(',')) {
    const [, id, encoded] = keyPattern.exec(part.trim()) ?? [];

    if (id === undefined || encoded === undefined) return 'wanted id:base64url of 32 bytes, comma-separated, newest first';
    if (keys.some((key) => key.id === id)) return `id ${id} stands twice`;
    keys.push({ id, secret: Buffer.from(encoded, 'base64url') });
  }
  const [first, ...rest] = keys;

  return first ? [first, ...rest] : 'missing';
}
