import { assertScopeActive } from './frozen.ts';
import type { Role, Scope } from '../workflows/contracts/access.ts';
import { fail, invalid } from '../workflows/contracts/failure.ts';
import type { Caller } from './caller.ts';
import { isUnbounded, organizationOf, refuseRank, scopeOf, workspacesOf } from './reach.ts';
import { rows } from './sql.ts';
import type { TenantTransaction } from './tenant-transaction.ts';

/** The row scope of a new row in a scoped table. */
export interface RowScope {
  readonly scope: Scope;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

/** The workspace of a new row in a workspace table. */
export interface RowWorkspace {
  readonly organizationId: string;
  readonly workspaceId: string;
}

interface Creating extends TenantTransaction {
  readonly caller: Caller;
  readonly floor: Role | null;
}

interface FoundWorkspace {
  readonly id: string;
  readonly organization_id: string;
  readonly is_active: boolean;
  readonly status: string;
}

export interface NewRowOptions {
  /** True for operations that a suspended organization or archived workspace still allows. */
  readonly openWhenSuspended?: boolean;
}

/**
 * Resolves the row scope of a new scoped row. An omitted scope is the caller's own, or workspace when a workspace is named. A scope wider than the caller's
 * own throws 403 `scope_too_wide`; a frozen organization or workspace throws 423.
 */
export async function resolveNewRowScope(
  ctx: Creating,
  asked: { scope?: Scope | null; workspace_id?: string | null },
  options: NewRowOptions = {},
): Promise<RowScope> {
  const own = scopeOf(ctx.caller);
  const scope = asked.scope ?? (asked.workspace_id ? 'workspace' : own);

  if (widthOf(scope) > widthOf(own)) throw fail('role_insufficient', { reason: 'scope_too_wide' });
  if (scope !== 'workspace' && asked.workspace_id) throw invalid('/workspace_id', 'range', `a row of scope ${scope} has no workspace`);

  if (scope === 'platform') return { scope, organizationId: null, workspaceId: null };
  if (scope === 'workspace') return { scope, ...(await resolveNewRowWorkspace(ctx, asked.workspace_id, options)) };
  return { scope, organizationId: await resolveNewRowOrganization(ctx, options), workspaceId: null };
}

/**
 * Resolves the workspace of a new row: the one requested, else that of X-View-Workspace, else the caller's, else the organization's only active one, else
 * 422 `workspace_required`. A workspace that the caller cannot see is 422 `reference`.
 */
export async function resolveNewRowWorkspace(
  ctx: Creating,
  workspaceId?: string | null,
  options: NewRowOptions = {},
): Promise<RowWorkspace> {
  const { caller } = ctx;
  const wanted = workspaceId ?? caller.view?.workspaceId ?? caller.workspaceId;
  const found = wanted ? await namedWorkspace(ctx, wanted) : await onlyWorkspace(ctx);

  refuseRank(caller, found.id, ctx.floor);
  if (!options.openWhenSuspended) assertScopeActive(found.status, found.is_active);
  return { organizationId: found.organization_id, workspaceId: found.id };
}

async function namedWorkspace(ctx: Creating, id: string): Promise<FoundWorkspace> {
  const { caller } = ctx;
  const visible = workspacesOf(caller);
  const isOwn = visible === null || visible.includes(id);
  const found = isOwn ? (await findWorkspaces(ctx, 'w.id = ?', [id]))[0] : undefined;
  const organizationId = organizationOf(caller);

  if (!found || !(isUnbounded(caller) || found.organization_id === organizationId)) {
    throw invalid('/workspace_id', 'reference', 'refers to a workspace that does not exist');
  }
  return found;
}

async function onlyWorkspace(ctx: Creating): Promise<FoundWorkspace> {
  const { caller } = ctx;
  const organizationId = organizationOf(caller);
  const active = organizationId ? await findWorkspaces(ctx, 'w.organization_id = ? and w.is_active', [organizationId]) : [];
  const [only, second] = active;

  if (!only || second) throw invalid('/workspace_id', 'workspace_required', 'name the workspace of the new row');
  return only;
}

async function findWorkspaces(ctx: Creating, condition: string, params: unknown[]): Promise<FoundWorkspace[]> {
  return rows<FoundWorkspace>(
    ctx.em,
    `select w.id, w.organization_id, w.is_active, o.status from workspaces w join organizations o on o.id = w.organization_id where ${condition} limit 2`,
    params,
  );
}

async function resolveNewRowOrganization(ctx: Creating, options: NewRowOptions): Promise<string> {
  const id = organizationOf(ctx.caller);
  if (!id) throw invalid('/scope', 'range', 'an operator names the organization with X-View-Organization');

  const [found] = await rows<{ status: string }>(ctx.em, 'select status from organizations where id = ?', [id]);
  if (!found) throw fail('not_found');
  if (!options.openWhenSuspended) assertScopeActive(found.status);
  return id;
}

function widthOf(scope: Scope): number {
  return { workspace: 0, organization: 1, platform: 2 }[scope];
}
