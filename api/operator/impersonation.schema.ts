import Type, { type Static } from 'typebox';
import type { ImpersonationRow } from '../../db/operator/impersonations.ts';
import { iso } from '../../db/sql.ts';
import { closed, idOf, integer, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

export const ImpersonationParams = closed({ impersonation_id: idOf('Impersonation') });

export const ImpersonationStart = closed(
  {
    user_id: idOf('User'),
    reason: text(500, { minLength: 10 }),
    minutes: Type.Optional(integer({ minimum: 1, maximum: 60, default: 30 })),
  },
  { $id: 'ImpersonationStart' },
);

export const ImpersonationFilters = closed({
  organization_id: Type.Optional(idOf('Organization')),
  operator_user_id: Type.Optional(idOf('User')),
  target_user_id: Type.Optional(idOf('User')),
  active: Type.Optional(Type.Boolean()),
  from: Type.Optional(Timestamp),
  to: Type.Optional(Timestamp),
});

export const ImpersonationView = closed(
  {
    id: idOf('Impersonation'),
    operator_user_id: idOf('User'),
    target_user_id: idOf('User'),
    organization_id: idOf('Organization'),
    workspace_id: nullable(idOf('Workspace')),
    reason: text(500),
    started_at: Timestamp,
    expires_at: Timestamp,
    ended_at: nullable(Timestamp),
    ended_by_user_id: nullable(idOf('User')),
  },
  { $id: 'ImpersonationView', description: 'An operator working as a user' },
);

export const ImpersonationTokenView = closed(
  {
    impersonation: ImpersonationView,
    access_token: text(100),
    token_type: oneOf(['Bearer']),
    expires_in: integer({ maximum: 3_600, description: 'Remaining lifetime, in seconds from now' }),
  },
  { $id: 'ImpersonationTokenView', description: 'An impersonation with its token, which is shown only once and cannot be refreshed' },
);

export function toImpersonationView(row: ImpersonationRow): Static<typeof ImpersonationView> {
  return {
    id: row.id,
    operator_user_id: row.operatorUserId,
    target_user_id: row.targetUserId,
    organization_id: row.organizationId,
    workspace_id: row.workspaceId,
    reason: row.reason,
    started_at: iso(row.startedAt),
    expires_at: iso(row.expiresAt),
    ended_at: iso(row.endedAt),
    ended_by_user_id: row.endedByUserId,
  };
}
