import type { Role, Scope } from '../../workflows/contracts/access.ts';
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

/** One user that the unit's tenant sees; null for any other. */
export async function readUser(unit: Pick<Unit, 'em'>, id: string): Promise<UserRow | null> {
  return row<UserRow>(unit.em, `select ${userColumns('u')} from users u where u.id = ? and u.deleted_at is null`, [id]);
}
