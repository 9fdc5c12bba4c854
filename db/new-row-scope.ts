import { sql } from 'kysely';
import { assertScopeActive } from './frozen.ts';
import type { Role, Scope } from '../workflows/contracts/access.ts';
import { fail, invalid } from '../workflows/contracts/failure.ts';
import type { Caller } from './caller.ts';
import { prepared, type ParametersOf } from './prepared.ts';
import { query } from './query.ts';
import { isUnbounded, organizationOf, refuseRank, ownScopeOf, workspacesOf } from './caller-scope.ts';
import { row, rows } from './sql.ts';
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
  const own = ownScopeOf(ctx.caller);
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
  if (!options.openWhenSuspended) assertScopeActive(found.status, found.isActive);
  return { organizationId: found.organizationId, workspaceId: found.id };
}

function selectWorkspaces() {
  return query
    .selectFrom('workspaces as w')
    .innerJoin('organizations as o', 'o.id', 'w.organizationId')
    .select(['w.id', 'w.organizationId', 'w.isActive', 'o.status'])
    .limit(sql.lit(2));
}

const workspaceById = prepared(({ id }: ParametersOf<{ readonly id: string }>) => selectWorkspaces().where('w.id', '=', id));

async function namedWorkspace(ctx: Creating, id: string) {
  const { caller } = ctx;
  const visible = workspacesOf(caller);
  const isOwn = visible === null || visible.includes(id);
  const found = isOwn ? await row(ctx.em, workspaceById({ id })) : null;
  const organizationId = organizationOf(caller);

  if (!found || !(isUnbounded(caller) || found.organizationId === organizationId)) {
    throw invalid('/workspace_id', 'reference', 'refers to a workspace that does not exist');
  }
  return found;
}

const activeWorkspaces = prepared(({ organizationId }: ParametersOf<{ readonly organizationId: string }>) =>
  selectWorkspaces()
    .where('w.organizationId', '=', organizationId)
    .where(({ ref }) => ref('w.isActive')),
);

async function onlyWorkspace(ctx: Creating) {
  const { caller } = ctx;
  const organizationId = organizationOf(caller);
  const active = organizationId ? await rows(ctx.em, activeWorkspaces({ organizationId })) : [];
  const [only, second] = active;

  if (!only || second) throw invalid('/workspace_id', 'workspace_required', 'name the workspace of the new row');
  return only;
}

const statusOfOrganization = prepared(({ id }: ParametersOf<{ readonly id: string }>) =>
  query.selectFrom('organizations').select('status').where('id', '=', id),
);

async function resolveNewRowOrganization(ctx: Creating, options: NewRowOptions): Promise<string> {
  const id = organizationOf(ctx.caller);
  if (!id) throw invalid('/scope', 'range', 'an operator names the organization with X-View-Organization');

  const found = await row(ctx.em, statusOfOrganization({ id }));
  if (!found) throw fail('not_found');
  if (!options.openWhenSuspended) assertScopeActive(found.status);
  return id;
}

function widthOf(scope: Scope): number {
  return { workspace: 0, organization: 1, platform: 2 }[scope];
}
