import { LockMode } from '@mikro-orm/core';
import { hasPersona, hasWorkspace, type KnowledgeGrantRow } from '../../../db/knowledge/bases/grants.ts';
import { KnowledgeBase } from '../../../db/knowledge/bases/knowledge-base.entity.ts';
import { KnowledgeGrant, type KnowledgeAccess, type KnowledgePrincipalKind } from '../../../db/knowledge/bases/knowledge-grant.entity.ts';
import { assertActive, checkIfMatch, removeOne, type Changing, type Scoped } from '../../../db/scope.ts';
import { hasAgent, hasUser } from '../../../db/skills/owners.ts';
import type { Role } from '../../../workflows/contracts/access.ts';
import { fail, invalid } from '../../../workflows/contracts/failure.ts';
import { seeBase, seeGrant } from './see-base.ts';

/** The principal of a grant: every kind but `role` has an `id`. */
export interface GrantPrincipal {
  readonly kind: KnowledgePrincipalKind;
  readonly id: string | null;
  readonly role: Role | null;
}

export interface NewGrant {
  readonly principal: GrantPrincipal;
  readonly access: KnowledgeAccess;
  readonly expiresAt: Date | null;
}

/**
 * Grants access to a base and locks it: a cut-over waits, and moves the grant too. Throws what `seeBase` throws; 422 `reference` for a principal outside of the
 * base's row scope; 409 `superseded` and `reembed_in_progress` for a base that grants must not point at, `already_exists` for a second grant of the principal.
 */
export async function makeGrant(ctx: Changing, kbId: string, { principal, access, expiresAt }: NewGrant): Promise<string> {
  await seeBase(ctx, kbId, 'grant');
  const base = await ctx.em.findOne(KnowledgeBase, { id: kbId, deletedAt: null }, { lockMode: LockMode.PESSIMISTIC_READ, refresh: true });
  if (!base) throw fail('not_found');
  await assertActive(ctx.em, base);
  if (base.successorId !== null) throw fail('state_conflict', { reason: 'superseded', context: { successor_id: base.successorId } });
  if (base.activatedAt === null) throw fail('state_conflict', { reason: 'reembed_in_progress' });
  await refusePrincipal(ctx, base, principal);
  if (base.scope === 'platform') refusePlatformWrite(access);

  const { organizationId, workspaceId } = base;
  const grant = ctx.em.create(KnowledgeGrant, {
    kbId,
    organizationId,
    workspaceId,
    principalKind: principal.kind,
    principalId: principal.id,
    role: principal.role,
    access,
    expiresAt,
    createdByUserId: ctx.caller.userId,
  });
  await ctx.em.flush();
  return grant.id;
}

/** Loads and locks a grant that is about to change. Throws what `seeGrant` throws; 412 and 428 by If-Match, 423 in a frozen workspace or organization. */
export async function seeGrantForChange(
  ctx: Changing,
  grantId: string,
  { openWhenSuspended = false } = {},
): Promise<{ readonly grant: KnowledgeGrant; readonly before: KnowledgeGrantRow }> {
  const before = await seeGrant(ctx, grantId);
  const grant = await ctx.em.findOne(KnowledgeGrant, { id: grantId }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true });
  if (!grant) throw fail('not_found');
  checkIfMatch(ctx, grant.version);
  if (!openWhenSuspended) await assertActive(ctx.em, grant);
  return { grant, before };
}

/** Changes the access or the expiry of a locked grant. */
export async function changeGrant(
  ctx: Changing,
  grant: KnowledgeGrant,
  changes: { readonly access?: KnowledgeAccess; readonly expiresAt?: Date | null },
): Promise<void> {
  if (grant.organizationId === null && changes.access !== undefined) refusePlatformWrite(changes.access);
  Object.assign(grant, changes);
  await ctx.em.flush();
}

/** Removes a locked grant; the next request and the next call of a run no longer have it. */
export async function removeGrant(ctx: Changing, grant: KnowledgeGrant): Promise<void> {
  await removeOne(ctx.em, KnowledgeGrant, grant.id);
}

async function refusePrincipal(ctx: Scoped, base: KnowledgeBase, { kind, id, role }: GrantPrincipal): Promise<void> {
  if ((kind === 'role') !== (role !== null))
    throw invalid(
      '/role',
      role === null ? 'required' : 'unknown_field',
      'role is required for a grant to a role and not allowed for any other.',
    );
  if ((kind === 'role') !== (id === null))
    throw invalid(
      '/principal_id',
      id === null ? 'required' : 'unknown_field',
      'principal_id is required for every grant except one to a role.',
    );
  if (id === null || (await reaches(ctx, base, { kind, id }))) return;
  throw invalid('/principal_id', 'reference', `The ${kind} does not exist in the scope of this base.`, { kind });
}

function reaches(ctx: Scoped, base: KnowledgeBase, { kind, id }: { readonly kind: KnowledgePrincipalKind; readonly id: string }) {
  switch (kind) {
    case 'agent':
      return hasAgent(ctx, base, id);
    case 'persona':
      return hasPersona(ctx, base, id);
    case 'user':
      return hasUser(ctx, base, id);
    case 'workspace':
      return hasWorkspace(ctx, base, id);
    case 'role':
      return true;
    default:
      return kind satisfies never;
  }
}

// Only operators write rows of the platform.
function refusePlatformWrite(access: KnowledgeAccess): void {
  if (access !== 'read') throw invalid('/access', 'const', 'must be read for a base of the platform');
}
