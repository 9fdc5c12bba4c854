import { defineEntity, p } from '@mikro-orm/core';
import type { Role } from '../../workflows/contracts/access.ts';
import { bigintColumn, createdAtColumn, idColumn, jsonColumn, uuidColumn } from '../columns.ts';
import { index, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const auditActions = ['create', 'update', 'delete', 'login', 'logout', 'submit', 'approve', 'purge', 'impersonate'] as const;
export const auditActorKinds = ['user', 'service_key', 'oauth_client', 'operator', 'agent_run', 'ingress', 'system'] as const;
export const auditOutcomes = ['success', 'denied'] as const;

const byTime = (column: string) => index('audit_entries', column, `(${column}, created_at desc, id desc)`);

const schema = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entries',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('audit_entries', 'append', { insertWithoutOrganization: true }),
  indexes: [
    ...['organization_id', 'workspace_id', 'actor_id', 'acting_user_id', 'resource_type'].map(byTime),
    index('audit_entries', 'unsealed', '(organization_id, id) where seal_no is null'),
    // Serves an operator's list across all tenants.
    index('audit_entries', 'time', '(created_at desc, id desc)'),
    uniqueIndex('audit_entries', 'seq', '(organization_id, seq) nulls not distinct where seq is not null'),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    actorKind: p.enum(auditActorKinds),
    actorId: uuidColumn().strictNullable(),
    actorRole: p.text().$type<Role>().strictNullable(),
    actingUserId: uuidColumn().strictNullable(),
    impersonationId: uuidColumn().strictNullable(),
    action: p.enum(auditActions),
    resourceType: p.text(),
    resourceId: p.text().strictNullable(),
    resourceLabel: p.text().strictNullable(),
    outcome: p.enum(auditOutcomes).default('success'),
    changes: jsonColumn<Record<string, unknown>>(() => ({})),
    operationId: p.text().strictNullable(),
    correlationId: uuidColumn().strictNullable(),
    ip: p.text().strictNullable(),
    userAgent: p.text().strictNullable(),
    seq: bigintColumn().strictNullable(),
    sealNo: bigintColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** Who did what. Written once, sealed once, never changed. */
export class AuditEntry extends schema.class {}
schema.setClass(AuditEntry);
