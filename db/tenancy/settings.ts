import { assertPlaceActive } from '../frozen.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { workspacesOf } from '../reach.ts';
import { checkIfMatch, type Changing, type Scoped } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { OrganizationRow } from './organization-row.ts';
import type { EgressAllowance, GitInstallation } from './organization-settings.entity.ts';
import { organizationsOf, refuseWorkspaceScoped } from './organizations.ts';

/** What an organization decides about itself; the last two are an operator's to decide. */
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

/** Every setting with the type as which its value is bound. */
const settingTypes = {
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

const columns = ['organization_id', ...settingNames, 'updated_at', 'version'].map((name) => `s.${name}`).join(', ');

/** The settings of an organization that the caller sees; of Git installations those of visible workspaces. Throws 404. */
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

/**
 * Loads and locks settings for a change by a caller of the whole organization. In this order: 404, 403, what `refuse` says, 412 by If-Match,
 * 423 when the organization is frozen.
 */
export async function lockSettings(ctx: Changing, organizationId: string, refuse: () => void): Promise<SettingsRow> {
  const visible = organizationsOf(ctx.caller);
  const found = await row<SettingsRow & Pick<OrganizationRow, 'status'>>(
    ctx.em,
    `select ${columns}, o.status from organizations o join organization_settings s on s.organization_id = o.id
      where o.id = ? and ${visible.sql} for no key update of s`,
    [organizationId, ...visible.params],
  );
  if (!found) throw fail('not_found');

  refuseWorkspaceScoped(ctx.caller);
  refuse();
  checkIfMatch(ctx, found.version);
  assertPlaceActive(found.status);
  return found;
}

/** Writes settings of a locked row; the version is a condition of the update. */
export async function changeSettings(tx: TenantTransaction, locked: SettingsRow, settings: Partial<Settings>): Promise<SettingsRow> {
  const changed = settingNames.filter((name) => settings[name] !== undefined);
  if (changed.length === 0) return locked;

  const values = changed.map((name) => (settingTypes[name] === 'jsonb' ? JSON.stringify(settings[name]) : settings[name]));
  const written = await row<SettingsRow>(
    tx.em,
    `update organization_settings s set ${changed.map((name) => `${name} = ?::${settingTypes[name]}`).join(', ')},
       version = s.version + 1, updated_at = clock_timestamp()
      where s.organization_id = ? and s.version = ? returning ${columns}`,
    [...values, locked.organization_id, locked.version],
  );
  if (!written) throw fail('precondition_failed');
  return written;
}

/** 422 when an installation is to go to a workspace that is none of the organization's. */
export async function checkInstallations(
  tx: TenantTransaction,
  organizationId: string,
  installations: readonly GitInstallation[],
): Promise<void> {
  if (installations.length === 0) return;
  const found = await rows<{ id: string }>(tx.em, 'select id from workspaces where organization_id = ? and id = any(?::uuid[])', [
    organizationId,
    installations.map((installation) => installation.workspace_id),
  ]);
  const known = new Set(found.map(({ id }) => id));
  const unknownAt = installations.findIndex((installation) => !known.has(installation.workspace_id));

  if (unknownAt >= 0)
    throw invalid(`/git_installations/${unknownAt}/workspace_id`, 'reference', 'refers to a workspace that does not exist');
}
