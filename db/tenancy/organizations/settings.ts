import { sql } from 'kysely';
import { fail } from '../../../workflows/contracts/failure.ts';
import { query } from '../../query.ts';
import { workspacesOf } from '../../reach.ts';
import type { Scoped } from '../../scope.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { OrganizationRow } from './organization-row.ts';
import type { EgressAllowance, GitInstallation } from './organization-settings.entity.ts';
import { organizationsOf } from './organizations.ts';

/** The settings of an organization; the last two are set by an operator. */
export interface Settings {
  readonly require_mfa: boolean;
  readonly allowed_email_domains: readonly string[];
  readonly session_idle_days: number;
  readonly session_absolute_days: number;
  readonly invitation_days: number;
  readonly audit_retention_days: number;
  readonly failed_login_retention_days: number;
  readonly delivery_retention_days: number;
  readonly workspace_retention_days: number;
  readonly run_retention_days: number | null;
  readonly egress_allowlist: readonly EgressAllowance[];
  readonly git_installations: readonly GitInstallation[];
}

export interface SettingsRow extends Settings {
  readonly organization_id: string;
  readonly updated_at: Date | string;
  readonly version: number;
}

export type SettingName = keyof Settings;

/** Every setting with the SQL type as which its value is bound. */
export const settingTypes = {
  require_mfa: 'boolean',
  allowed_email_domains: 'text[]',
  session_idle_days: 'integer',
  session_absolute_days: 'integer',
  invitation_days: 'integer',
  audit_retention_days: 'integer',
  failed_login_retention_days: 'integer',
  delivery_retention_days: 'integer',
  workspace_retention_days: 'integer',
  run_retention_days: 'integer',
  egress_allowlist: 'jsonb',
  git_installations: 'jsonb',
} as const satisfies Record<SettingName, string>;

// Object.keys widens to string[]; the record above is closed, so the narrower type holds.
export const settingNames = Object.keys(settingTypes) as SettingName[];

export const columns = ['organization_id', ...settingNames, 'updated_at', 'version'].map((name) => `s.${name}`).join(', ');

/** Returns the settings of an organization that the caller sees, with the Git installations of visible workspaces only. Throws 404. */
export async function readSettings(ctx: Scoped, organizationId: string): Promise<SettingsRow> {
  const visible = organizationsOf(ctx.caller);
  const found = await row<SettingsRow>(
    ctx.em,
    `select ${columns} from organizations o join organization_settings s on s.organization_id = o.id where o.id = ? and ${visible.sql}`,
    [organizationId, ...visible.params],
  );
  if (!found) throw fail('not_found');
  const seen = workspacesOf(ctx.caller);
  if (seen === null) return found;
  return { ...found, git_installations: found.git_installations.filter(({ workspace_id }) => seen.includes(workspace_id)) };
}

/** Returns the settings of an organization that the caller sees, locked, and its state; null when there is none. */
export function findSettingsForChange(
  ctx: Scoped,
  organizationId: string,
): Promise<(SettingsRow & Pick<OrganizationRow, 'status'>) | null> {
  const visible = organizationsOf(ctx.caller);
  return row<SettingsRow & Pick<OrganizationRow, 'status'>>(
    ctx.em,
    `select ${columns}, o.status from organizations o join organization_settings s on s.organization_id = o.id
      where o.id = ? and ${visible.sql} for no key update of s`,
    [organizationId, ...visible.params],
  );
}

/** Returns those of the given ids that are workspaces of an organization. */
export async function workspacesAmong(tx: TenantTransaction, organizationId: string, ids: readonly string[]): Promise<Set<string>> {
  const found = await rows(
    tx.em,
    query
      .selectFrom('workspaces as w')
      .select('w.id')
      .where('w.organizationId', '=', organizationId)
      .where(sql<boolean>`w.id = any(${ids}::uuid[])`),
  );
  return new Set(found.map(({ id }) => id));
}
