import { isAskerStanding } from '../sessions/session-right.sql.ts';
import { lookupFunction, oauthClientJson, personOf, sessionJson, type DefinerFunctions } from './lookup-parts.sql.ts';

const functions = [
  'gate_oauth_client(text)',
  'gate_oauth_code(bytea)',
  'gate_oauth_refresh(bytea)',
  'gate_end_oauth_sessions(text)',
] as const;

const grants: DefinerFunctions['grants'] = {
  oauth_clients: ['select'],
  oauth_codes: ['select'],
  sessions: ['select', 'update'],
};

const sql: readonly string[] = [
  lookupFunction('gate_oauth_client(p_client text)', `select ${oauthClientJson} from oauth_clients c where c.client_id = p_client`),
  lookupFunction(
    'gate_oauth_code(p_hash bytea)',
    `
  select jsonb_build_object(
    'clientId', a.client_id, 'redirectUri', a.redirect_uri, 'codeChallenge', a.code_challenge, 'scope', a.scope, 'resource', a.resource,
    'sessionId', a.session_id, 'wasUsed', a.used_at is not null,
    'isOver', a.expires_at <= now() or not ${isAskerStanding('a.approver_session_id', { survivesLogout: true })},
    'person', ${personOf('a.user_id')}, 'idleDays', st.session_idle_days, 'absoluteDays', st.session_absolute_days)
  from oauth_codes a
  left join organization_settings st on st.organization_id = a.organization_id
  where a.code_hash = p_hash
`,
  ),
  lookupFunction(
    'gate_oauth_refresh(p_hash bytea)',
    `
  select jsonb_build_object(
    'session', ${sessionJson}, 'person', ${personOf('s.user_id')}, 'scope', coalesce(t.oauth_scope, s.oauth_scope),
    'isLive', t.used_at is null and t.expires_at > now(), 'expiresAt', t.expires_at, 'createdAt', t.created_at, 'idleDays', st.session_idle_days)
  from refresh_tokens t
  join sessions s on s.id = t.session_id
  left join organization_settings st on st.organization_id = s.organization_id
  where t.token_hash = p_hash and s.kind = 'oauth'
`,
  ),
  // A client's grants lie in many tenants, and the caller that deletes it belongs to none of these.
  `create or replace function gate_end_oauth_sessions(p_client text) returns jsonb
  language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $gate$
  with ended as (
    update sessions set revoked_at = now(), revoke_reason = 'client_deleted'
    where client_id = p_client and kind = 'oauth' and revoked_at is null
    returning id)
  select coalesce(jsonb_agg(id), '[]') from ended
$gate$`,
];

/** Look-ups of OAuth clients, codes and refresh tokens before a tenant is known, and the end of a client's grants. */
export const oauthFunctions: DefinerFunctions = { functions, grants, sql };
