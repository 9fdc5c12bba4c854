import Type, { type Static } from 'typebox';
import type { LoginChallenge } from '../../../db/identity/factors/challenges.ts';
import type { IssuedRefresh } from '../../../db/identity/sessions/sessions.ts';
import { accessTokenLifeS } from '../../../domain/identity/sessions/session-tokens.ts';
import { iso } from '../../../db/sql.ts';
import type { UserRow } from '../../../db/identity/people/users.ts';
import { closed, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../input/schema.ts';
import { toUserView, UserView } from './user-view.ts';

// Shared by the areas that sign a user in: login, refresh, verified factors, accepted invitations.

const secondFactors = ['totp', 'recovery_code'] as const;
const AccessToken = text(4_096, { description: 'Send it as Authorization: Bearer' });
const RefreshToken = text(100, { description: 'Valid for one refresh' });

export const TokenView = closed(
  {
    access_token: AccessToken,
    token_type: oneOf(['Bearer']),
    expires_in: integer({ description: 'Lifetime of the access token, in seconds from now' }),
    expires_at: Timestamp,
    refresh_token: nullable(RefreshToken),
    refresh_expires_at: nullable(Timestamp),
    session_id: idOf('Session'),
    user: UserView,
  },
  { $id: 'TokenView', description: 'The tokens of a session' },
);

export const LoginView = closed(
  {
    mfa_required: Type.Boolean({ description: 'If true, every token field is null and the challenge must be answered' }),
    access_token: nullable(AccessToken),
    token_type: nullable(oneOf(['Bearer'])),
    expires_in: nullable(integer({ description: 'Lifetime of the access token, in seconds from now' })),
    expires_at: nullable(Timestamp),
    refresh_token: nullable(RefreshToken),
    refresh_expires_at: nullable(Timestamp),
    session_id: nullable(idOf('Session')),
    user: nullable(UserView),
    challenge_id: nullable(idOf('Other')),
    methods: listOf(oneOf(secondFactors), { maxItems: 2 }),
    challenge_expires_at: nullable(Timestamp),
  },
  { $id: 'LoginView', description: 'The tokens of a new session, or a challenge for the second factor' },
);

export interface SessionGrant {
  readonly access: { readonly token: string; readonly expiresAt: Date };
  /** Without a refresh token where the session goes on with the one that it has. */
  readonly refresh: IssuedRefresh | { readonly sessionId: string; readonly refreshToken: null; readonly refreshExpiresAt: null };
  readonly user: UserRow;
}

export function toTokenView({ access, refresh, user }: SessionGrant): Static<typeof TokenView> {
  return {
    access_token: access.token,
    token_type: 'Bearer',
    expires_in: accessTokenLifeS,
    expires_at: iso(access.expiresAt),
    refresh_token: refresh.refreshToken,
    refresh_expires_at: iso(refresh.refreshExpiresAt),
    session_id: refresh.sessionId,
    user: toUserView(user),
  };
}

export function toLoginView(grant: SessionGrant): Static<typeof LoginView> {
  const tokens = toTokenView(grant);

  return {
    mfa_required: false,
    access_token: tokens.access_token,
    token_type: tokens.token_type,
    expires_in: tokens.expires_in,
    expires_at: tokens.expires_at,
    refresh_token: tokens.refresh_token,
    refresh_expires_at: tokens.refresh_expires_at,
    session_id: tokens.session_id,
    user: tokens.user,
    challenge_id: null,
    methods: [],
    challenge_expires_at: null,
  };
}

/** No token before the second factor. */
export function toChallengeView(challenge: LoginChallenge): Static<typeof LoginView> {
  return {
    mfa_required: true,
    access_token: null,
    token_type: null,
    expires_in: null,
    expires_at: null,
    refresh_token: null,
    refresh_expires_at: null,
    session_id: null,
    user: null,
    challenge_id: challenge.id,
    methods: challenge.hasRecoveryCodes ? ['totp', 'recovery_code'] : ['totp'],
    challenge_expires_at: iso(challenge.expiresAt),
  };
}
