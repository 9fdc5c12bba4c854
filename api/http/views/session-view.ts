import Type, { type Static } from 'typebox';
import { mfaLevels, sessionKinds } from '../../../db/identity/sessions/session.entity.ts';
import type { SessionRow } from '../../../db/identity/people/me.ts';
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
    client_id: row.client_id,
    client_name: row.client_name,
    device_label: row.device_label,
    user_agent: row.user_agent,
    ip_truncated: row.ip_truncated,
    mfa_level: row.mfa_level,
    verified_at: iso(row.verified_at),
    created_at: iso(row.created_at),
    last_seen_at: iso(row.last_seen_at),
    expires_at: iso(row.expires_at),
    revoked_at: iso(row.revoked_at),
    current: row.id === currentSessionId,
  };
}
