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
    created_at: iso(row.created_at),
    organization_id: row.organization_id,
    workspace_id: row.workspace_id,
    actor_kind: row.actor_kind,
    actor_id: row.actor_id,
    actor_role: row.actor_role,
    acting_user_id: row.acting_user_id,
    impersonation_id: row.impersonation_id,
    action: row.action,
    resource_type: row.resource_type,
    resource_id: row.resource_id,
    resource_label: row.resource_label,
    outcome: row.outcome,
    changes: row.changes,
    operation_id: row.operation_id,
    correlation_id: row.correlation_id,
    ip: row.ip,
    user_agent: row.user_agent,
    seq: row.seq,
    sealed: row.is_sealed,
  };
}
