import { row } from '../sql.ts';
import type { Scope } from '../../workflows/contracts/access.ts';
import type { RowScope } from '../new-row-scope.ts';
import type { Page, PageRequest } from '../page.ts';
import { fetchPage, holdsText } from '../page-query.ts';
import { isUnbounded, organizationOf, workspacesAtFloor } from '../reach.ts';
import { visibleToSql, type Changing, type Predicate } from '../scope.ts';
import { Secret } from './secret.entity.ts';

/** A secret as it is shown: everything except its value. */
export interface SecretRow {
  readonly id: string;
  readonly scope: Scope;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly name: string;
  readonly description: string | null;
  readonly value_version: number;
  readonly updated_by_user_id: string | null;
  readonly last_used_at: Date | string | null;
  readonly created_at: Date | string;
  readonly updated_at: Date | string;
}

export interface SecretFilters {
  readonly q?: string;
  readonly scope?: Scope;
  readonly workspace_id?: string;
}

export const secretColumns = `s.id, s.scope, s.organization_id, s.workspace_id, s.name, s.description, s.value_version, s.updated_by_user_id, s.last_used_at,
  s.created_at, s.updated_at`;

/** Returns names and row scopes of the secrets that the caller sees at the operation's floor, by name; without tools' own secrets. */
export function listSecretRows(ctx: Changing, filters: SecretFilters, page: PageRequest): Promise<Page<SecretRow>> {
  const visible = visibleAtFloor(ctx);
  const where = ['s.tool_id is null', visible.sql];
  const params: unknown[] = [...visible.params];
  const narrow = (sql: string, value: unknown): void => {
    where.push(sql);
    params.push(value);
  };
  if (filters.q !== undefined) narrow(holdsText('s.name'), filters.q);
  if (filters.scope !== undefined) narrow('s.scope = ?', filters.scope);
  if (filters.workspace_id !== undefined) narrow('s.workspace_id = ?::uuid', filters.workspace_id);

  return fetchPage<SecretRow>(ctx.em, {
    select: secretColumns,
    from: 'secrets s',
    where: where.join(' and '),
    params,
    order: [
      { column: 's.name', type: 'text', descending: false },
      { column: 's.id', type: 'uuid', descending: false },
    ],
    page,
  });
}

/** Returns the id of the secret with this name in exactly this row scope, if the caller sees it. */
export async function findSecretId(ctx: Changing, place: Pick<RowScope, 'scope' | 'workspaceId'>, name: string): Promise<string | null> {
  const visible = visibleToSql(ctx, Secret, 's');
  const organizationId = organizationOf(ctx.caller);
  const home = placeOf({ ...place, organizationId });
  const found = await row<{ id: string }>(
    ctx.em,
    `select s.id from secrets s where s.tool_id is null and s.name = ? and ${home.sql} and ${visible.sql}`,
    [name, ...home.params, ...visible.params],
  );
  return found?.id ?? null;
}

function visibleAtFloor({ caller, floor }: Changing): Predicate {
  if (isUnbounded(caller)) return { sql: 'true', params: [] };
  const workspaceIds = workspacesAtFloor(caller, floor);
  const inWorkspaces = workspaceIds === null ? '' : ' and (s.workspace_id is null or s.workspace_id = any(?::uuid[]))';
  return {
    sql: `(s.scope = 'platform' or (s.organization_id = ?::uuid${inWorkspaces}))`,
    params: [organizationOf(caller), ...(workspaceIds === null ? [] : [workspaceIds])],
  };
}

function placeOf({ scope, organizationId, workspaceId }: RowScope): Predicate {
  switch (scope) {
    case 'workspace':
      return { sql: "s.scope = 'workspace' and s.workspace_id = ?::uuid", params: [workspaceId] };
    case 'organization':
      return { sql: "s.scope = 'organization' and s.organization_id = ?::uuid", params: [organizationId] };
    case 'platform':
      return { sql: "s.scope = 'platform'", params: [] };
    default:
      return scope satisfies never;
  }
}
