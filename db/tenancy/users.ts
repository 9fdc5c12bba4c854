import type { Role, Scope } from '../../workflows/contracts/access.ts';
import type { TenantSettings } from '../caller.ts';
import { workspacesOf } from '../reach.ts';
import type { Predicate, Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { Unit } from '../unit.ts';

/** A user as views show one. */
export interface UserRow {
  readonly id: string;
  readonly email: string;
  readonly full_name: string | null;
  readonly role: Role;
  readonly scope: Scope;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly is_active: boolean;
  readonly mfa_enabled: boolean;
  readonly last_login_at: Date | string | null;
  readonly created_at: Date | string;
  readonly updated_at: Date | string;
}

/** Select list of a UserRow over `users` under the given alias. */
export function userColumns(alias: string): string {
  const own = [
    'id',
    'email',
    'full_name',
    'role',
    'scope',
    'organization_id',
    'workspace_id',
    'is_active',
    'last_login_at',
    'created_at',
    'updated_at',
  ];
  const hasFactor = `exists (select from totp_factors f where f.user_id = ${alias}.id and f.confirmed_at is not null) as mfa_enabled`;

  return [...own.map((column) => `${alias}.${column}`), hasFactor].join(', ');
}

/** One user that the unit's tenant sees: of its organization, or itself. Null for any other. */
export async function readUser(unit: Pick<Unit, 'em' | 'tenant'>, id: string): Promise<UserRow | null> {
  const own = personOf(unit.tenant, 'u');
  return row<UserRow>(unit.em, `select ${userColumns('u')} from users u where u.id = ? and u.deleted_at is null and ${own.sql}`, [
    id,
    ...own.params,
  ]);
}

/** Which users a tenant reaches (design 03 §5.3, kind person), as a condition for `where`: the rule of the policies. */
export function personOf(tenant: TenantSettings, alias: string): Predicate {
  if (tenant.isOperator) return { sql: 'true', params: [] };
  return { sql: `(${alias}.organization_id = ?::uuid or ${alias}.id = ?::uuid)`, params: [tenant.organizationId, tenant.userId] };
}

/**
 * Whether a caller sees a user (design 03 §5.2) who may be named in a row of that organization: a user of the whole organization, or one
 * with home or grant in a workspace that the caller sees.
 */
export async function seesUser(ctx: Scoped, place: { readonly userId: string; readonly organizationId: string }): Promise<boolean> {
  const workspaceIds = workspacesOf(ctx.caller);
  const found = await row(
    ctx.em,
    `select u.id from users u
      where u.id = ?::uuid and u.organization_id = ?::uuid and u.deleted_at is null
        and (?::boolean or u.scope = 'organization' or u.workspace_id = any(?::uuid[])
          or exists (select from workspace_grants g where g.user_id = u.id and g.workspace_id = any(?::uuid[])))`,
    [place.userId, place.organizationId, workspaceIds === null, workspaceIds ?? [], workspaceIds ?? []],
  );
  return found !== null;
}
