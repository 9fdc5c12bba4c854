import { assertScopeActive } from './frozen.ts';
import { type EntityClass, type FilterQuery, LockMode, raw } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { Role } from '../workflows/contracts/access.ts';
import { fail } from '../workflows/contracts/failure.ts';
import type { Caller, TenantSettings } from './caller.ts';
import { Condition } from './condition.ts';
import { prepared, type ParametersOf } from './prepared.ts';
import { query } from './query.ts';
import { isUnbounded, organizationOf, refuseRank, workspacesAtFloor, workspacesOf } from './caller-scope.ts';
import { row } from './sql.ts';
import type { TenantTransaction } from './tenant-transaction.ts';

/** A transaction with the caller and the floor of the requested operation: the caller's rank counts in the workspace of the row. */
export interface Scoped extends TenantTransaction {
  readonly caller: Caller;
  readonly floor: Role | null;
}

/** Adds the request's If-Match, which helps decide whether a row may be changed. */
export interface Changing extends Scoped {
  readonly ifMatch: '*' | readonly string[] | null;
  readonly isIfMatchRequired: boolean;
}

export interface ChangeOptions {
  /** Name of the property that feeds the ETag; defaults to the entity's version property. Null: the entity has no version. */
  readonly versionProperty?: string | null;
  /** True for operations that a suspended organization or archived workspace still allows. */
  readonly openWhenSuspended?: boolean;
}

/** A predicate as text, with a `?` for each parameter. */
export interface Predicate {
  readonly sql: string;
  readonly params: unknown[];
}

/** A row of a table with tenant columns, as far as the checks read it. */
interface TenantRow {
  readonly scope?: unknown;
  readonly organizationId?: string | null;
  readonly workspaceId?: string | null;
}

/**
 * Returns a condition for `where`: the rows of a scoped, child or tenant table that the operation shows the caller. These are the visible rows, except
 * those of workspaces where the caller's role by grant is below the floor. It repeats the policies' rule so that indexes are used. `alias` is the table's
 * alias in the statement. The query itself must exclude deleted rows.
 */
export function visibleTo<E extends object>(ctx: Scoped, entity: EntityClass<E>, alias: string): Condition {
  return inWorkspaces(ctx, entity, { alias, workspaceIds: workspacesAtFloor(ctx.caller, ctx.floor) });
}

/** Like `visibleTo`, for a table of kind open: a row without an organization belongs to the platform, and only an operator without X-View-* sees it. */
export function ownTo<E extends object>(ctx: Scoped, entity: EntityClass<E>, alias: string): Condition {
  return inWorkspaces(ctx, entity, { alias, workspaceIds: workspacesAtFloor(ctx.caller, ctx.floor), isOwn: true });
}

/** Returns a condition for the rows visible to the caller whatever the floor: to look up one row that `seen` then judges, or one that any viewer might read. */
export function visibleToSql<E extends object>(ctx: Scoped, entity: EntityClass<E>, alias: string): Condition {
  return inWorkspaces(ctx, entity, { alias, workspaceIds: workspacesOf(ctx.caller) });
}

/** Checks a row that was looked up among those visible to the caller. Throws 404 when there is none, 403 where the caller's rank is below the floor. */
export function seen<R extends { readonly workspaceId: string | null } | { readonly workspace_id: string | null }>(
  { caller, floor }: Pick<Scoped, 'caller' | 'floor'>,
  found: R | null,
): R {
  if (!found) return notFound();
  const workspaceId = 'workspaceId' in found ? found.workspaceId : found.workspace_id;
  if (workspaceId !== null) refuseRank(caller, workspaceId, floor);
  return found;
}

function inWorkspaces<E extends object>(
  { caller, em }: Scoped,
  entity: EntityClass<E>,
  { alias, workspaceIds, isOwn = false }: { readonly alias: string; readonly workspaceIds: string[] | null; readonly isOwn?: boolean },
): Condition {
  if (isUnbounded(caller)) return new Condition('true');

  const { isScoped, hasPlatformRows, hasOptionalWorkspace } = shapeOf(em, entity);
  const at = `${alias}.`;
  const sql = [`${at}organization_id = ?`];
  const params: unknown[] = [organizationOf(caller)];
  if (workspaceIds !== null) {
    sql.push(
      hasOptionalWorkspace ? `(${at}workspace_id is null or ${at}workspace_id = any(?::uuid[]))` : `${at}workspace_id = any(?::uuid[])`,
    );
    params.push(workspaceIds);
  }

  const own = sql.join(' and ');
  if (isOwn) return new Condition(`(${own})`, params);
  if (isScoped) return new Condition(`((${at}scope = 'platform' and ${at}is_active) or (${own}))`, params);
  if (hasPlatformRows) return new Condition(`(${at}organization_id is null or (${own}))`, params);
  return new Condition(`(${own})`, params);
}

/** Returns a condition for the rows that a transaction may see in a table whose rows all lie in a workspace; for queries that have no caller. */
export function tenantPredicate(tenant: TenantSettings, alias: string): Condition {
  if (tenant.isOperator) return new Condition('true');
  const { organizationId, hasAllWorkspaces, workspaceIds } = tenant;
  if (hasAllWorkspaces) return new Condition(`${alias}.organization_id = ?::uuid`, [organizationId]);
  return new Condition(`(${alias}.organization_id = ?::uuid and ${alias}.workspace_id = any(?::uuid[]))`, [organizationId, workspaceIds]);
}

/** Loads a row that is visible to the caller; throws the same 404 for any other, and 403 where the caller's rank is below the floor. */
export async function see<E extends object>(ctx: Scoped, entity: EntityClass<E>, id: string): Promise<E> {
  const found = (await find(ctx, entity, id, null)) ?? notFound();
  const { workspaceId }: TenantRow = found;
  if (workspaceId) refuseRank(ctx.caller, workspaceId, ctx.floor);
  return found;
}

/**
 * Loads and locks a row that is about to change. Throws, checked in this order: 404 when the row isn't visible, 403 when the caller may not change it, 412
 * or 428 by If-Match, 423 when its organization or workspace is frozen.
 */
export async function seeForChange<E extends object>(
  ctx: Changing,
  entity: EntityClass<E>,
  id: string,
  options: ChangeOptions = {},
): Promise<E> {
  const found = (await find(ctx, entity, id, LockMode.PESSIMISTIC_WRITE)) ?? (await refuseUnlocked(ctx, entity, id));

  refuseForbidden(ctx, found);
  const versionProperty = options.versionProperty === undefined ? ctx.em.getMetadata(entity).versionProperty : options.versionProperty;
  if (versionProperty) checkIfMatch(ctx, Reflect.get(found, versionProperty));
  if (!options.openWhenSuspended) await assertActive(ctx.em, found);
  return found;
}

/** Compares If-Match with the row's version. Throws 412 with the current ETag, or 428 where the header is required and missing. */
export function checkIfMatch(ctx: Pick<Changing, 'ifMatch' | 'isIfMatchRequired'>, version: unknown): void {
  if (ctx.ifMatch === null) {
    if (ctx.isIfMatchRequired) throw fail('precondition_required');
    return;
  }
  if (ctx.ifMatch !== '*' && !ctx.ifMatch.includes(String(version))) {
    throw fail('precondition_failed', { context: { etag: `"${String(version)}"` } });
  }
}

const stateOfRowScope = prepared(
  ({ organizationId, workspaceId }: ParametersOf<{ readonly organizationId: string; readonly workspaceId: string | null }>) =>
    query
      .selectFrom('organizations as o')
      .leftJoin('workspaces as w', (join) => join.on('w.id', '=', sql<string>`${workspaceId}::uuid`))
      .select(['o.status', 'w.isActive'])
      .where('o.id', '=', organizationId),
);

/** Refuses writes inside a suspended or deleting organization or an archived workspace (423). One query; none for platform rows. */
export async function assertActive(em: SqlEntityManager, rowScope: TenantRow): Promise<void> {
  if (!rowScope.organizationId) return;
  const state = await row(em, stateOfRowScope({ organizationId: rowScope.organizationId, workspaceId: rowScope.workspaceId ?? null }));
  // Null without a workspace, since there is none to join.
  if (state) assertScopeActive(state.status, state.isActive);
}

/** Deletes exactly one row, else throws. A policy would silently let the delete of a foreign row pass with nothing changed. */
export async function removeOne<E extends { id: string }>(em: SqlEntityManager, entity: EntityClass<E>, id: string): Promise<void> {
  // The primary key of every entity given here is `id`; the generic filter type can't see that.
  const removed = await em.nativeDelete(entity, { id } as FilterQuery<E>);
  if (removed !== 1) throw new Error(`Deleting one row of ${entity.name} changed ${removed}`);
}

function notFound(): never {
  // Absent and foreign rows give the same answer, so that an id is never confirmed.
  throw fail('not_found');
}

async function find<E extends object>(ctx: Scoped, entity: EntityClass<E>, id: string, lockMode: LockMode | null): Promise<E | null> {
  const { isDeletable } = shapeOf(ctx.em, entity);
  const where = { id, ...(isDeletable ? { deletedAt: null } : {}), [sightFilter(ctx, entity)]: [] };
  // Built from the entity's metadata: the property names are checked there, not by the compiler.
  return ctx.em.findOne(entity, where as FilterQuery<NoInfer<E>>, lockMode === null ? {} : { lockMode, refresh: true });
}

/** The same predicate for the entity manager, which would expand an array into a list. */
function sightFilter<E extends object>(ctx: Scoped, entity: EntityClass<E>): symbol {
  const { params } = visibleToSql(ctx, entity, '');
  const written = params.map((value) => (Array.isArray(value) ? `{${value.join(',')}}` : value));
  return raw<symbol>((alias) => visibleToSql(ctx, entity, alias).sql, written);
}

// The policy for updates also filters a locking read: a row that only a plain read finds is visible but forbidden, not absent.
async function refuseUnlocked<E extends object>(ctx: Scoped, entity: EntityClass<E>, id: string): Promise<never> {
  if (await find(ctx, entity, id, null)) throw fail('resource_forbidden');
  return notFound();
}

function refuseForbidden(ctx: Changing, found: object): void {
  const { caller, floor } = ctx;
  const { scope, organizationId, workspaceId }: TenantRow = found;
  if (isUnbounded(caller)) return;

  const isPlatformRow = scope === 'platform' || organizationId === null;
  if (isPlatformRow) throw fail('resource_forbidden');
  if (workspaceId) return refuseRank(caller, workspaceId, floor);
  if (workspacesOf(caller) !== null) throw fail('resource_forbidden');
}

interface Shape {
  readonly isScoped: boolean;
  /** Child of a scoped table: rows without an organization are visible to everybody. */
  readonly hasPlatformRows: boolean;
  readonly hasOptionalWorkspace: boolean;
  readonly isDeletable: boolean;
}

function shapeOf<E extends object>(em: SqlEntityManager, entity: EntityClass<E>): Shape {
  const properties: Record<string, { nullable?: boolean } | undefined> = em.getMetadata(entity).properties;
  if (!properties['organizationId']) throw new Error(`${entity.name} has no tenant columns`);
  return {
    isScoped: properties['scope'] !== undefined && properties['isActive'] !== undefined && properties['organizationId'].nullable === true,
    hasPlatformRows: properties['organizationId'].nullable === true,
    hasOptionalWorkspace: properties['workspaceId']?.nullable === true,
    isDeletable: properties['deletedAt'] !== undefined,
  };
}
