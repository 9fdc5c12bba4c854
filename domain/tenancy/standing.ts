import { assertScopeActive } from '../../db/frozen.ts';
import type { Role, Scope } from '../../workflows/contracts/access.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { Caller } from '../../db/caller.ts';
import { isUnbounded, workspacesOf } from '../../db/caller-scope.ts';
import type { Scoped } from '../../db/scope.ts';
import { refuseHigherRank, refuseUnattended } from './rank-rules.ts';
import type { Standing } from '../../db/tenancy/people/user-changes.ts';
import type { UserRow } from '../../db/identity/people/users.ts';
import { findWorkspacesForRows } from '../../db/tenancy/workspaces/workspaces.ts';

/** The requested standing; an omitted scope leaves scope and home as they are. */
interface AskedStanding {
  readonly role: Role;
  readonly scope?: Scope;
  readonly workspace_id?: string | null;
}

/**
 * Returns the new standing of a user. Throws 403 for a rank above the caller's own (R1) or, by a key, above member (R4), and when a caller who isn't of the
 * whole organization requests its scope or another home; 422 when role, scope and home don't fit together; 423 for an archived home.
 */
export async function standingFor(ctx: Scoped, user: UserRow, asked: AskedStanding): Promise<Standing> {
  const { caller } = ctx;
  const scope = asked.scope ?? user.scope;
  const home = scope === 'workspace' ? (asked.workspace_id ?? user.workspaceId) : null;

  refuseWider(caller, user, { scope, home });
  refuseUnattended(caller, asked.role);
  refuseHigherRank(caller, asked.role, home);
  refuseMismatch(user, asked, scope);
  if (scope !== 'workspace') return { role: asked.role, scope, workspaceId: null };
  if (home !== null && home === user.workspaceId) return { role: asked.role, scope, workspaceId: home };
  return { role: asked.role, scope, workspaceId: await newHome(ctx, user.organizationId, home) };
}

/** Throws 422 unless the rank operator and the scope platform come together. */
export function refuseMisfit(role: Role, scope: Scope): void {
  if ((role === 'operator') !== (scope === 'platform'))
    throw invalid('/role', 'range', 'the role operator and the scope platform require each other');
}

function refuseWider(caller: Caller, user: UserRow, to: { readonly scope: Scope; readonly home: string | null }): void {
  if (isUnbounded(caller)) return;
  const isWider = to.scope === 'platform' || (to.scope === 'organization' && workspacesOf(caller) !== null);
  // Another home yields the same answer whether it exists or not.
  const isElsewhere = to.scope === 'workspace' && to.home !== user.workspaceId && workspacesOf(caller) !== null;
  if (isWider || isElsewhere) throw fail('role_insufficient', { reason: 'scope_too_wide' });
}

function refuseMismatch(user: UserRow, asked: AskedStanding, scope: Scope): void {
  if ((scope === 'platform') !== (user.scope === 'platform'))
    throw invalid('/scope', 'range', 'a user of an organization cannot become an operator, nor an operator a user of an organization');
  refuseMisfit(asked.role, scope);
  const workspaceId = asked.workspace_id ?? null;
  if (workspaceId === null) return;
  if (scope !== 'workspace') throw invalid('/workspace_id', 'range', `a user of scope ${scope} has no workspace`);
  if (asked.scope === undefined && workspaceId !== user.workspaceId) throw invalid('/workspace_id', 'range', 'requires scope as well');
}

// The named workspace, else the organization's only active one.
async function newHome(ctx: Scoped, organizationId: string | null, workspaceId: string | null): Promise<string> {
  const [only, second] = await findWorkspacesForRows(ctx, organizationId, workspaceId);
  if (!only || second) {
    throw workspaceId === null
      ? invalid('/workspace_id', 'workspace_required', 'is required: name the home workspace')
      : invalid('/workspace_id', 'reference', 'does not refer to an existing workspace');
  }
  assertScopeActive(only.status, only.isActive);
  return only.id;
}
