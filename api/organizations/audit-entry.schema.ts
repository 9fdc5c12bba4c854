import Type from 'typebox';
import { auditActions, auditActorKinds, auditOutcomes } from '../../db/audit/audit-entry.entity.ts';
import type { AuditEntryRow } from '../../db/audit/entries.ts';
import { iso } from '../../db/sql.ts';
import { roles } from '../../workflows/contracts/access.ts';
import { closed, FreeObject, idOf, integer, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

export const AuditEntryParams = closed({ entry_id: idOf('AuditEntry') });

export const AuditEntryFilters = closed({
  actor_id: Type.Optional(idOf('Other', 'Who held the credential, or as whom the action was done')),
  action: Type.Optional(oneOf(auditActions)),
  resource_type: Type.Optional(text(60, { minLength: 1 })),
  from: Type.Optional(Timestamp),
  to: Type.Optional(Timestamp),
});

export const AuditEntryView = closed(
  {
    id: idOf('AuditEntry'),
    created_at: Timestamp,
    organization_id: nullable(idOf('Organization')),
    workspace_id: nullable(idOf('Workspace')),
    actor_kind: oneOf(auditActorKinds, { description: 'Who held the credential' }),
    actor_id: nullable(idOf('Other')),
    actor_role: nullable(oneOf(roles, { description: 'Its role at the time' })),
    acting_user_id: nullable(idOf('User', 'As whom')),
    impersonation_id: nullable(idOf('Other')),
    action: oneOf(auditActions),
    resource_type: text(60),
    resource_id: nullable(text(200)),
    resource_label: nullable(text(254, { description: 'Its name at the time; for a user, the current name, or null once deleted' })),
    outcome: oneOf(auditOutcomes),
    changes: FreeObject,
    operation_id: nullable(text(100)),
    correlation_id: nullable(idOf('Other')),
    ip: nullable(text(60)),
    user_agent: nullable(text(400)),
    seq: nullable(integer({ minimum: 1, description: 'Its number in the chain of the organization, without gaps' })),
    sealed: Type.Boolean({ description: 'True once a change to it would be detected' }),
  },
  { $id: 'AuditEntryView', description: 'Who did what, when and as whom' },
);

/** The wire form of an audit entry. */
export function toAuditEntryView(row: AuditEntryRow) {
  return {
    id: row.id,
    created_at: iso(row.createdAt),
    organization_id: row.organizationId,
    workspace_id: row.workspaceId,
    actor_kind: row.actorKind,
    actor_id: row.actorId,
    actor_role: row.actorRole,
    acting_user_id: row.actingUserId,
    impersonation_id: row.impersonationId,
    action: row.action,
    resource_type: row.resourceType,
    resource_id: row.resourceId,
    resource_label: row.resourceLabel,
    outcome: row.outcome,
    changes: row.changes,
    operation_id: row.operationId,
    correlation_id: row.correlationId,
    ip: row.ip,
    user_agent: row.userAgent,
    seq: row.seq,
    sealed: row.isSealed,
  };
}
