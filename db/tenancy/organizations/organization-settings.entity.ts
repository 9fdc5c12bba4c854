import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, jsonColumn, textArrayColumn, updatedAtColumn, uuidColumn, versionColumn } from '../../columns.ts';
import { tenantPolicies } from '../../policies.ts';

export interface EgressAllowance {
  readonly host: string;
  readonly port: number | null;
  readonly allow_http: boolean;
}

export interface GitInstallation {
  readonly installation_id: number;
  readonly workspace_id: string;
}

const schema = defineEntity({
  name: 'OrganizationSettings',
  tableName: 'organization_settings',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('organization_settings', 'tenant', { hasWorkspace: false }),
  checks: [{ name: 'organization_settings_session_days', expression: 'session_idle_days <= session_absolute_days' }],
  properties: {
    organizationId: uuidColumn().primary(),
    requireMfa: p.boolean().default(false),
    allowedEmailDomains: textArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    sessionIdleDays: p.integer().default(14),
    sessionAbsoluteDays: p.integer().default(90),
    invitationDays: p.integer().default(7),
    auditRetentionDays: p.integer().default(400),
    failedLoginRetentionDays: p.integer().default(90),
    deliveryRetentionDays: p.integer().default(30),
    workspaceRetentionDays: p.integer().default(90),
    runRetentionDays: p.integer().strictNullable(),
    traceContent: p.boolean().default(false),
    egressAllowlist: jsonColumn<EgressAllowance[]>(() => []),
    gitInstallations: jsonColumn<GitInstallation[]>(() => []),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    version: versionColumn(),
  },
});

/** One row per organization, created with it. */
export class OrganizationSettings extends schema.class {}
schema.setClass(OrganizationSettings);
