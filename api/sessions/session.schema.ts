import Type, { type Static } from 'typebox';
import { sessionKinds } from '../../db/identity/sessions/session.entity.ts';
import { closed, idOf, integer, listOf, oneOf } from '../http/input/schema.ts';

export const SessionParams = closed({ session_id: idOf('Session') });

export const SessionOwnerParams = closed({ user_id: idOf('User') });

export const SessionQuery = closed({
  kind: Type.Optional(oneOf(sessionKinds)),
  include_revoked: Type.Optional(Type.Boolean({ default: false })),
});

const shownIdsMax = 1_000;

export const SessionRevocationView = closed(
  {
    revoked_count: integer({ description: 'Sessions that this request ended' }),
    session_ids: listOf(idOf('Session'), { maxItems: shownIdsMax }),
  },
  { $id: 'SessionRevocationView', description: 'The sessions that a revocation has ended' },
);

export function toSessionRevocationView(ids: readonly string[]): Static<typeof SessionRevocationView> {
  return { revoked_count: ids.length, session_ids: ids.slice(0, shownIdsMax) };
}
