import Type, { type Static } from 'typebox';
import { mfaLevels, sessionKinds } from '../../../db/identity/sessions/session.entity.ts';
import type { SessionRow } from '../../../db/identity/sessions/session-list.ts';
import { iso } from '../../../db/sql.ts';
import { closed, idOf, nullable, oneOf, text, Timestamp } from '../input/schema.ts';

/** Shared by `/auth/me` and the list of devices. */
export const SessionView = closed(
  {
    id: idOf('Session'),
    kind: oneOf(sessionKinds),
    client_id: nullable(text(1_024)),
    client_name: nullable(text(200)),
    device_label: nullable(text(80)),
    user_agent: text(400),
    ip_truncated: text(60, { description: 'The network, /24 or /48; never the whole address' }),
    mfa_level: oneOf(mfaLevels),
    verified_at: Timestamp,
    created_at: Timestamp,
    last_seen_at: Timestamp,
    expires_at: Timestamp,
    revoked_at: nullable(Timestamp),
    current: Type.Boolean(),
  },
  { $id: 'SessionView', description: 'A device family, or a connected app' },
);

export function toSessionView(row: SessionRow, currentSessionId: string | null): Static<typeof SessionView> {
  return {
    id: row.id,
    kind: row.kind,
    client_id: row.clientId,
    client_name: row.clientName,
    device_label: row.deviceLabel,
    user_agent: row.userAgent,
    ip_truncated: row.ipTruncated,
    mfa_level: row.mfaLevel,
    verified_at: iso(row.verifiedAt),
    created_at: iso(row.createdAt),
    last_seen_at: iso(row.lastSeenAt),
    expires_at: iso(row.expiresAt),
    revoked_at: iso(row.revokedAt),
    current: row.id === currentSessionId,
  };
}
