import {
  lookupFunction,
  impersonationJson,
  keyJson,
  oauthClientJson,
  personOf,
  sessionJson,
  type DefinerFunctions,
} from './lookup-parts.sql.ts';
import { freshUntil, isAskerStanding } from '../sessions/session-right.sql.ts';

/**
 * The SECURITY DEFINER functions that look up a credential before a tenant is known: exact match, one answer, as jsonb. They belong to `longhaul_gate`, and
 * only `longhaul_app` may execute them; `db/definer-functions.ts` lists all sets of them.
 */
const functions = [
  'gate_session(uuid, uuid, uuid, uuid, uuid)',
  'gate_service_key(bytea[], uuid)',
  'gate_login(text)',
  'gate_refresh(bytea)',
  'gate_holder(uuid, uuid)',
  'gate_challenge(uuid)',
  'gate_mail_token(bytea, text)',
  'gate_stream_token(bytea, uuid)',
] as const;

/** What `longhaul_gate` may do on each table; it needs a policy for exactly these commands. */
const grants: DefinerFunctions['grants'] = {
  users: ['select'],
  user_credentials: ['select'],
  organizations: ['select'],
  organization_settings: ['select'],
  workspaces: ['select'],
  workspace_grants: ['select'],
  sessions: ['select'],
  refresh_tokens: ['select'],
  totp_factors: ['select'],
  auth_challenges: ['select'],
  service_keys: ['select'],
  stream_tokens: ['select', 'update'],
  impersonations: ['select'],
};

const sql: readonly string[] = [
  lookupFunction(
    'gate_session(p_session uuid, p_user uuid, p_acting uuid, p_view_organization uuid, p_view_workspace uuid)',
    `
  select jsonb_build_object(
    'session', ${sessionJson},
    'person', ${personOf('s.user_id')},
    'acting', ${personOf('p_acting')},
    'viewOrganization', (select o.id from organizations o where o.id = p_view_organization and o.purged_at is null),
    'viewWorkspace', (
      select jsonb_build_object('id', w.id, 'organizationId', w.organization_id)
      from workspaces w join organizations o on o.id = w.organization_id
      where w.id = p_view_workspace and o.purged_at is null))
  from sessions s
  where s.id = p_session and s.user_id = p_user
`,
  ),
  // One plaintext has one MAC under each pepper, so at most one row matches.
  lookupFunction(
    'gate_service_key(p_hashes bytea[], p_acting uuid)',
    `
  select jsonb_build_object('key', ${keyJson}, 'creator', ${personOf('k.created_by_user_id')}, 'acting', ${personOf('p_acting')})
  from service_keys k
  where k.key_hash = any (p_hashes)
  limit 1
`,
  ),
  lookupFunction(
    'gate_login(p_email text)',
    `
  select jsonb_build_object(
    'person', ${personOf('u.id')},
    'passwordHash', c.password_hash,
    'idleDays', st.session_idle_days,
    'absoluteDays', st.session_absolute_days)
  from users u
  left join user_credentials c on c.user_id = u.id
  left join organization_settings st on st.organization_id = u.organization_id
  where u.email = p_email and u.deleted_at is null
`,
  ),
  lookupFunction(
    'gate_refresh(p_hash bytea)',
    `
  select jsonb_build_object('session', ${sessionJson}, 'person', ${personOf('s.user_id')}, 'idleDays', st.session_idle_days)
  from refresh_tokens t
  join sessions s on s.id = t.session_id
  left join organization_settings st on st.organization_id = s.organization_id
  where t.token_hash = p_hash
`,
  ),
  // What `/auth/me` shows of the credential's holder: an operator who acts as a user is not visible in that user's tenant.
  lookupFunction(
    'gate_holder(p_user uuid, p_session uuid)',
    `
  select jsonb_build_object(
    'user', jsonb_build_object(
      'id', u.id, 'email', u.email, 'full_name', u.full_name, 'role', u.role, 'scope', u.scope, 'organization_id', u.organization_id,
      'workspace_id', u.workspace_id, 'is_active', u.is_active, 'mfa_enabled', f.user_id is not null, 'last_login_at', u.last_login_at,
      'created_at', u.created_at, 'updated_at', u.updated_at),
    'session', jsonb_build_object(
      'id', s.id, 'kind', s.kind, 'client_id', s.client_id, 'client_name', s.client_name, 'device_label', s.device_label,
      'user_agent', s.user_agent, 'ip_truncated', s.ip_truncated, 'mfa_level', s.mfa_level, 'verified_at', s.verified_at,
      'created_at', s.created_at, 'last_seen_at', s.last_seen_at, 'expires_at', s.expires_at, 'revoked_at', s.revoked_at),
    'version', u.version,
    'locale', u.locale,
    'pendingEmail', c.pending_email,
    'isFactorRequired', coalesce(st.require_mfa, false),
    'freshUntil', ${freshUntil})
  from users u
  join sessions s on s.id = p_session and s.user_id = u.id
  left join user_credentials c on c.user_id = u.id
  left join totp_factors f on f.user_id = u.id and f.confirmed_at is not null
  left join organization_settings st on st.organization_id = u.organization_id
  where u.id = p_user
`,
  ),
  // Includes dead challenges: only the conditional update that counts a try decides.
  lookupFunction(
    'gate_challenge(p_challenge uuid)',
    `
  select jsonb_build_object(
    'person', ${personOf('u.id')},
    'email', u.email,
    'idleDays', st.session_idle_days,
    'absoluteDays', st.session_absolute_days)
  from auth_challenges c
  join users u on u.id = c.user_id
  left join organization_settings st on st.organization_id = u.organization_id
  where c.id = p_challenge and c.purpose = 'login'
`,
  ),
  lookupFunction(
    'gate_mail_token(p_hash bytea, p_purpose text)',
    `
  select jsonb_build_object(
    'person', ${personOf('u.id')},
    'email', u.email,
    'fullName', u.full_name,
    'isOpen', c.used_at is null and c.expires_at > now() and ${isAskerStanding('c.session_id')})
  from auth_challenges c
  join users u on u.id = c.user_id
  where c.token_hash = p_hash and c.purpose = p_purpose
`,
  ),
  streamTokenGate(),
];

export const credentialFunctions: DefinerFunctions = { functions, grants, sql };

// Uses up the token: one of two concurrent callers gets `ok`. A token presented for another run stays as it was. A separate statement judges a loser, so that
// it sees what the winner has committed meanwhile.
function streamTokenGate(): string {
  return `create or replace function gate_stream_token(p_hash bytea, p_run uuid) returns jsonb
  language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $gate$
declare
  t stream_tokens;
  was_used boolean;
begin
  update stream_tokens set used_at = now()
  where token_hash = p_hash and run_id = p_run and used_at is null and expires_at > now()
  returning * into t;
  if not found then
    select used_at is not null into was_used from stream_tokens where token_hash = p_hash and run_id = p_run;
    return jsonb_build_object('result', case when was_used then 'used' else 'invalid' end);
  end if;
  return jsonb_build_object(
    'result', 'ok',
    'organizationId', t.organization_id,
    'workspaceId', t.workspace_id,
    'isActing', t.acting_user_id is not null,
    'isOutdated', exists (select from service_keys k where k.id = t.principal_id and k.rotated_at > t.created_at)
      or exists (select from oauth_clients c where c.id = t.principal_id and c.secret_rotated_at > t.created_at),
    'session', (select ${sessionJson} from sessions s where s.id = t.session_id),
    'person', case when t.principal_kind = 'user' then ${personOf('t.principal_id')} end,
    'key', (select ${keyJson} from service_keys k where t.principal_kind = 'service_key' and k.id = t.principal_id),
    'creator', (select ${personOf('k.created_by_user_id')} from service_keys k where t.principal_kind = 'service_key' and k.id = t.principal_id),
    'client', (select ${oauthClientJson} from oauth_clients c where t.principal_kind = 'oauth_client' and c.id = t.principal_id),
    'acting', ${personOf('t.acting_user_id')},
    'impersonation', (
      select ${impersonationJson} from impersonations i where t.principal_kind = 'impersonation' and i.id = t.principal_id));
end
$gate$`;
}
