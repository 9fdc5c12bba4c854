import type { KeyList } from '../../../db/key-ring.ts';
import { rankOfCreator } from '../../../db/identity/people/creator.ts';
import { newServiceKeyPlaintext, serviceKeyHash, shownEnds } from '../../../db/identity/keys/service-key-format.ts';
import { ServiceKey } from '../../../db/identity/keys/service-key.entity.ts';
import { resolveNewRowScope } from '../../../db/new-row-scope.ts';
import { seeForChange, type Changing } from '../../../db/scope.ts';
import { rankOf } from '../../../workflows/contracts/access.ts';
import { fail, invalid } from '../../../workflows/contracts/failure.ts';
import { lockCreator } from '../people/creator.ts';

/** The fields of a request for a key. */
interface AskedKey {
  readonly name: string;
  readonly role?: ServiceKey['role'];
  readonly scope?: ServiceKey['scope'] | null;
  readonly workspace_id?: string | null;
  readonly scopes?: ServiceKey['scopes'];
  readonly expires_at?: string | null;
}

/** A key, and its plaintext, which is shown only once. */
export interface MadeKey {
  readonly key: ServiceKey;
  readonly plaintext: string;
}

/**
 * Creates a key of at most its creator's rank. Throws 422 for an end in the past or a row scope of neither a workspace nor an organization; 403 by rank; 401
 * when the creator's access has ended.
 */
export async function createServiceKey(
  ctx: Changing,
  asked: AskedKey,
  { now, peppers }: { now: Date; peppers: KeyList },
): Promise<MadeKey> {
  const expiresAt = asked.expires_at ? new Date(asked.expires_at) : null;
  const role = asked.role ?? 'member';

  if (expiresAt && expiresAt <= now) throw invalid('/expires_at', 'range', 'expires_at must be in the future');
  const rowScope = await rowScopeOfNewKey(ctx, asked);
  const createdByUserId = await lockRankedCreator(ctx, { role, workspaceId: rowScope.workspaceId });
  const plaintext = newServiceKeyPlaintext();
  const key = ctx.em.create(ServiceKey, {
    organizationId: rowScope.organizationId,
    workspaceId: rowScope.workspaceId,
    scope: rowScope.workspaceId === null ? 'organization' : 'workspace',
    name: asked.name,
    role,
    scopes: asked.scopes ?? ['*'],
    ...shownEnds(plaintext),
    keyHash: serviceKeyHash(plaintext, peppers),
    createdByUserId,
    expiresAt,
  });

  await ctx.em.flush();
  return { key, plaintext };
}

/** Replaces the plaintext of a key; the old one is invalid at once, and its streams end. Throws 409 `key_revoked` for a dead key. */
export async function rotateServiceKey(ctx: Changing, id: string, { now, peppers }: { now: Date; peppers: KeyList }): Promise<MadeKey> {
  const key = await seeForChange(ctx, ServiceKey, id, { openWhenSuspended: true });

  if (key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= now)) {
    throw fail('state_conflict', { reason: 'key_revoked', detail: 'A revoked or expired key cannot be rotated.' });
  }
  const plaintext = newServiceKeyPlaintext();
  const { prefix, last4 } = shownEnds(plaintext);

  key.prefix = prefix;
  key.last4 = last4;
  key.keyHash = serviceKeyHash(plaintext, peppers);
  key.rotatedAt = now;
  await ctx.em.flush();
  // The database has set the time of the write.
  await ctx.em.refresh(key);
  // Streams that the old plaintext opened end too.
  ctx.outgoing.revoked.push(`service_key:${key.id}`);
  return { key, plaintext };
}

/** Ends a key and its open streams; a key that has ended stays as it is. */
export async function revokeServiceKey(ctx: Changing, id: string, now: Date): Promise<ServiceKey> {
  const key = await seeForChange(ctx, ServiceKey, id, { openWhenSuspended: true });

  key.revokedAt ??= now;
  ctx.outgoing.revoked.push(`service_key:${key.id}`);
  return key;
}

// A key belongs to one workspace or to the organization, never to the platform.
async function rowScopeOfNewKey(
  ctx: Changing,
  { scope: asked, workspace_id }: Pick<AskedKey, 'scope' | 'workspace_id'>,
): Promise<{ organizationId: string; workspaceId: string | null }> {
  const scope = asked ?? (workspace_id ? 'workspace' : undefined);
  const rowScope = await resolveNewRowScope(ctx, { scope, workspace_id }, { openWhenSuspended: true });

  if (rowScope.organizationId === null) throw invalid('/scope', 'range', 'a key must belong to a workspace or an organization');
  return { organizationId: rowScope.organizationId, workspaceId: rowScope.workspaceId };
}

/**
 * Locks the creator with the current rights: a key that is created concurrently with a deactivation, a demotion or the end of a grant is ended by that, or is
 * not created.
 */
async function lockRankedCreator(
  ctx: Changing,
  { role, workspaceId }: { role: ServiceKey['role']; workspaceId: string | null },
): Promise<string> {
  const creator = await lockCreator(ctx);
  if (creator.userId === null) throw fail('scope_insufficient', { reason: 'user_session_required' });
  const rank = await rankOfCreator(ctx, creator, workspaceId);

  if (rank === null || rankOf(rank) < rankOf('admin')) throw fail('role_insufficient');
  if (rankOf(role) > rankOf(rank))
    throw fail('role_insufficient', { reason: 'rank', detail: 'A key cannot have a higher role than its creator.' });
  return creator.userId;
}
