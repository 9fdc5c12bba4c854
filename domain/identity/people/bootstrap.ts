import { verify } from '@node-rs/argon2';
import type { KeyRing } from '../../../db/key-ring.ts';
import { ServiceKey } from '../../../db/identity/keys/service-key.entity.ts';
import { newServiceKeyPlaintext, serviceKeyHash, serviceKeyHashes, shownEnds } from '../../../db/identity/keys/service-key-format.ts';
import { UserCredential } from '../../../db/identity/factors/user-credential.entity.ts';
import { newId } from '../../../db/ids.ts';
import { User } from '../../../db/identity/people/user.entity.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { recordChange } from '../../audit/record.ts';

const keyName = 'bootstrap';

interface Secret {
  readonly password: string;
  readonly hash: string;
}

/** An object of an earlier bootstrap exists whose secret is unknown here. */
export class UnknownSecretError extends Error {
  override readonly name = 'UnknownSecretError';
  /** The object with the secret. */
  readonly what: string;

  constructor(what: string) {
    super(`nobody here knows the secret of ${what}`);
    this.what = what;
  }
}

interface WantedUser {
  readonly email: string;
  readonly fullName: string;
  readonly rowScope: {
    readonly role: 'operator' | 'owner';
    readonly scope: 'platform' | 'organization';
    readonly organizationId: string | null;
  };
  readonly given: Secret;
  readonly known: string | null;
  readonly resets: boolean;
  /** The time at which a written secret counts as created. */
  readonly at: Date;
}

/** Returns the password: the known one, or the given one when the user is new, already has it, or is to be reset. @throws UnknownSecretError */
export async function ensureUser(
  tx: TenantTransaction,
  { email, fullName, rowScope, given, known, resets, at }: WantedUser,
): Promise<string> {
  const existing = await tx.em.findOne(User, { email, deletedAt: null });

  if (existing && known !== null) return known;
  const credential = existing && (await tx.em.findOne(UserCredential, { userId: existing.id }));
  if (credential && !resets) {
    if (credential.passwordHash !== null && (await verify(credential.passwordHash, given.password))) return given.password;
    throw new UnknownSecretError(`the user ${email}`);
  }
  const user =
    existing ??
    tx.em.create(User, {
      id: newId(),
      email,
      fullName,
      ...rowScope,
      workspaceId: null,
      locale: null,
      lastLoginAt: null,
      deactivatedAt: null,
      deletedAt: null,
    });
  if (credential) {
    credential.passwordHash = given.hash;
    credential.passwordChangedAt = at;
  } else {
    const { organizationId } = rowScope;

    tx.em.create(UserCredential, {
      userId: user.id,
      organizationId,
      passwordHash: given.hash,
      emailVerifiedAt: at,
      pendingEmail: null,
    });
  }
  await tx.em.flush();
  await recordChange(tx, {
    action: existing ? 'update' : 'create',
    note: {
      resourceType: 'user',
      resourceId: user.id,
      organizationId: rowScope.organizationId,
      changes: existing ? { password: { changed: true } } : { role: { to: rowScope.role } },
    },
  });
  return given.password;
}

interface WantedKey {
  readonly keys: KeyRing;
  readonly organizationId: string;
  readonly workspaceId: string;
  /** The user who counts as the key's creator. */
  readonly ownerEmail: string;
  readonly given: string;
  readonly known: string | null;
  readonly resets: boolean;
  /** The time at which a written secret counts as created. */
  readonly at: Date;
}

/** Returns the plaintext: the known one, or the given one when the key is new, already has it, or is to be reset. @throws UnknownSecretError */
export async function ensureServiceKey(tx: TenantTransaction, wanted: WantedKey): Promise<string> {
  const { keys, organizationId, workspaceId, ownerEmail, given, known, resets, at } = wanted;
  const live = await tx.em.findOne(ServiceKey, { name: keyName, workspaceId, revokedAt: null }, { orderBy: { id: 'asc' } });

  // If the key was rotated since, the person who rotated it knows the new plaintext; access.json keeps what it has.
  if (live && known !== null) return known;
  if (live && !resets) {
    if (serviceKeyHashes(given, keys.peppers).some((hash) => live.keyHash.equals(hash))) return given;
    throw new UnknownSecretError(`the service key ${keyName}`);
  }
  const keyHash = serviceKeyHash(given, keys.peppers);
  // A revoked key must not come back to life.
  if (!live && (await tx.em.count(ServiceKey, { keyHash })) > 0)
    return ensureServiceKey(tx, { ...wanted, given: newServiceKeyPlaintext() });
  const secret = { ...shownEnds(given), keyHash };
  const key = live ?? tx.em.create(ServiceKey, { ...(await newKey(tx, ownerEmail, { organizationId, workspaceId })), ...secret });

  if (live) Object.assign(live, secret, { rotatedAt: at });
  await tx.em.flush();
  await recordChange(tx, {
    action: live ? 'update' : 'create',
    note: {
      resourceType: 'service_key',
      resourceId: key.id,
      label: keyName,
      organizationId,
      workspaceId,
    },
  });
  return given;
}

async function newKey(tx: TenantTransaction, ownerEmail: string, rowScope: { organizationId: string; workspaceId: string }) {
  const owner = await tx.em.findOneOrFail(User, { email: ownerEmail, deletedAt: null });
  const never = { expiresAt: null, lastUsedAt: null, rotatedAt: null, revokedAt: null };

  return {
    id: newId(),
    ...rowScope,
    scope: 'workspace' as const,
    name: keyName,
    role: 'admin' as const,
    createdByUserId: owner.id,
    ...never,
  };
}
