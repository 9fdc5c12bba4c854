-- What requests, links and codes read of a session: what it lacks, until when it is fresh, and whether it still stands.

grant create on schema public to longhaul_gate;
set local role longhaul_gate;
create or replace function gate_session(p_session uuid, p_user uuid, p_acting uuid, p_view_organization uuid, p_view_workspace uuid) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$
  select jsonb_build_object(
    'session', jsonb_build_object(
  'id', s.id, 'userId', s.user_id, 'kind', s.kind, 'clientId', s.client_id, 'oauthScope', s.oauth_scope, 'resource', s.resource, 'lastSeenAt', s.last_seen_at,
  'freshUntil', (case when s.kind = 'login' and (s.mfa_level <> 'none' or not exists (select from totp_factors own where own.user_id = s.user_id and own.confirmed_at is not null)) then s.verified_at + interval '10 minutes' end), 'restriction', (case when not exists (select from organization_settings rules where rules.organization_id = s.organization_id and rules.require_mfa) then null when not exists (select from totp_factors own where own.user_id = s.user_id and own.confirmed_at is not null) then 'enrolment_required'
    when s.mfa_level = 'none' then 'step_up_required' end), 'isRevoked', (s.revoked_at is not null or (s.client_id is not null and not exists (
    select from oauth_clients holder where holder.client_id = s.client_id and holder.deleted_at is null))),
  'isOver', least(s.idle_expires_at, s.expires_at) <= now()),
    'person', (
    select jsonb_build_object(
      'id', person.id, 'role', person.role, 'scope', person.scope, 'organizationId', person.organization_id, 'workspaceId', person.workspace_id,
      'isActive', person.is_active and person.deleted_at is null and home.purged_at is null,
      'isFactorRequired', coalesce(rules.require_mfa, false),
      'hasFactor', exists (select from totp_factors f where f.user_id = person.id and f.confirmed_at is not null),
      'grants', coalesce((select jsonb_object_agg(g.workspace_id, g.role) from workspace_grants g where g.user_id = person.id), '{}'))
    from users person
    left join organizations home on home.id = person.organization_id
    left join organization_settings rules on rules.organization_id = person.organization_id
    where person.id = s.user_id),
    'acting', (
    select jsonb_build_object(
      'id', person.id, 'role', person.role, 'scope', person.scope, 'organizationId', person.organization_id, 'workspaceId', person.workspace_id,
      'isActive', person.is_active and person.deleted_at is null and home.purged_at is null,
      'isFactorRequired', coalesce(rules.require_mfa, false),
      'hasFactor', exists (select from totp_factors f where f.user_id = person.id and f.confirmed_at is not null),
      'grants', coalesce((select jsonb_object_agg(g.workspace_id, g.role) from workspace_grants g where g.user_id = person.id), '{}'))
    from users person
    left join organizations home on home.id = person.organization_id
    left join organization_settings rules on rules.organization_id = person.organization_id
    where person.id = p_acting),
    'viewOrganization', (select o.id from organizations o where o.id = p_view_organization and o.purged_at is null),
    'viewWorkspace', (
      select jsonb_build_object('id', w.id, 'organizationId', w.organization_id)
      from workspaces w join organizations o on o.id = w.organization_id
      where w.id = p_view_workspace and o.purged_at is null))
  from sessions s
  where s.id = p_session and s.user_id = p_user
$gate$;
create or replace function gate_refresh(p_hash bytea) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$
  select jsonb_build_object('session', jsonb_build_object(
  'id', s.id, 'userId', s.user_id, 'kind', s.kind, 'clientId', s.client_id, 'oauthScope', s.oauth_scope, 'resource', s.resource, 'lastSeenAt', s.last_seen_at,
  'freshUntil', (case when s.kind = 'login' and (s.mfa_level <> 'none' or not exists (select from totp_factors own where own.user_id = s.user_id and own.confirmed_at is not null)) then s.verified_at + interval '10 minutes' end), 'restriction', (case when not exists (select from organization_settings rules where rules.organization_id = s.organization_id and rules.require_mfa) then null when not exists (select from totp_factors own where own.user_id = s.user_id and own.confirmed_at is not null) then 'enrolment_required'
    when s.mfa_level = 'none' then 'step_up_required' end), 'isRevoked', (s.revoked_at is not null or (s.client_id is not null and not exists (
    select from oauth_clients holder where holder.client_id = s.client_id and holder.deleted_at is null))),
  'isOver', least(s.idle_expires_at, s.expires_at) <= now()), 'person', (
    select jsonb_build_object(
      'id', person.id, 'role', person.role, 'scope', person.scope, 'organizationId', person.organization_id, 'workspaceId', person.workspace_id,
      'isActive', person.is_active and person.deleted_at is null and home.purged_at is null,
      'isFactorRequired', coalesce(rules.require_mfa, false),
      'hasFactor', exists (select from totp_factors f where f.user_id = person.id and f.confirmed_at is not null),
      'grants', coalesce((select jsonb_object_agg(g.workspace_id, g.role) from workspace_grants g where g.user_id = person.id), '{}'))
    from users person
    left join organizations home on home.id = person.organization_id
    left join organization_settings rules on rules.organization_id = person.organization_id
    where person.id = s.user_id), 'idleDays', st.session_idle_days)
  from refresh_tokens t
  join sessions s on s.id = t.session_id
  left join organization_settings st on st.organization_id = s.organization_id
  where t.token_hash = p_hash
$gate$;
create or replace function gate_holder(p_user uuid, p_session uuid) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$
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
    'freshUntil', (case when s.kind = 'login' and (s.mfa_level <> 'none' or not exists (select from totp_factors own where own.user_id = s.user_id and own.confirmed_at is not null)) then s.verified_at + interval '10 minutes' end))
  from users u
  join sessions s on s.id = p_session and s.user_id = u.id
  left join user_credentials c on c.user_id = u.id
  left join totp_factors f on f.user_id = u.id and f.confirmed_at is not null
  left join organization_settings st on st.organization_id = u.organization_id
  where u.id = p_user
$gate$;
create or replace function gate_mail_token(p_hash bytea, p_purpose text) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$
  select jsonb_build_object(
    'person', (
    select jsonb_build_object(
      'id', person.id, 'role', person.role, 'scope', person.scope, 'organizationId', person.organization_id, 'workspaceId', person.workspace_id,
      'isActive', person.is_active and person.deleted_at is null and home.purged_at is null,
      'isFactorRequired', coalesce(rules.require_mfa, false),
      'hasFactor', exists (select from totp_factors f where f.user_id = person.id and f.confirmed_at is not null),
      'grants', coalesce((select jsonb_object_agg(g.workspace_id, g.role) from workspace_grants g where g.user_id = person.id), '{}'))
    from users person
    left join organizations home on home.id = person.organization_id
    left join organization_settings rules on rules.organization_id = person.organization_id
    where person.id = u.id),
    'email', u.email,
    'fullName', u.full_name,
    'isOpen', c.used_at is null and c.expires_at > now() and (c.session_id is null or exists (select from sessions s where s.id = c.session_id and s.revoked_at is null and (case when not exists (select from organization_settings rules where rules.organization_id = s.organization_id and rules.require_mfa) then null when not exists (select from totp_factors own where own.user_id = s.user_id and own.confirmed_at is not null) then 'enrolment_required'
    when s.mfa_level = 'none' then 'step_up_required' end) is null)))
  from auth_challenges c
  join users u on u.id = c.user_id
  where c.token_hash = p_hash and c.purpose = p_purpose
$gate$;
create or replace function gate_stream_token(p_hash bytea, p_run uuid) returns jsonb
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
    'session', (select jsonb_build_object(
  'id', s.id, 'userId', s.user_id, 'kind', s.kind, 'clientId', s.client_id, 'oauthScope', s.oauth_scope, 'resource', s.resource, 'lastSeenAt', s.last_seen_at,
  'freshUntil', (case when s.kind = 'login' and (s.mfa_level <> 'none' or not exists (select from totp_factors own where own.user_id = s.user_id and own.confirmed_at is not null)) then s.verified_at + interval '10 minutes' end), 'restriction', (case when not exists (select from organization_settings rules where rules.organization_id = s.organization_id and rules.require_mfa) then null when not exists (select from totp_factors own where own.user_id = s.user_id and own.confirmed_at is not null) then 'enrolment_required'
    when s.mfa_level = 'none' then 'step_up_required' end), 'isRevoked', (s.revoked_at is not null or (s.client_id is not null and not exists (
    select from oauth_clients holder where holder.client_id = s.client_id and holder.deleted_at is null))),
  'isOver', least(s.idle_expires_at, s.expires_at) <= now()) from sessions s where s.id = t.session_id),
    'person', case when t.principal_kind = 'user' then (
    select jsonb_build_object(
      'id', person.id, 'role', person.role, 'scope', person.scope, 'organizationId', person.organization_id, 'workspaceId', person.workspace_id,
      'isActive', person.is_active and person.deleted_at is null and home.purged_at is null,
      'isFactorRequired', coalesce(rules.require_mfa, false),
      'hasFactor', exists (select from totp_factors f where f.user_id = person.id and f.confirmed_at is not null),
      'grants', coalesce((select jsonb_object_agg(g.workspace_id, g.role) from workspace_grants g where g.user_id = person.id), '{}'))
    from users person
    left join organizations home on home.id = person.organization_id
    left join organization_settings rules on rules.organization_id = person.organization_id
    where person.id = t.principal_id) end,
    'key', (select jsonb_build_object(
  'id', k.id, 'organizationId', k.organization_id, 'workspaceId', k.workspace_id, 'scope', k.scope, 'role', k.role, 'scopes', to_jsonb(k.scopes),
  'lastUsedAt', k.last_used_at, 'isDead', k.revoked_at is not null or coalesce(k.expires_at <= now(), false)) from service_keys k where t.principal_kind = 'service_key' and k.id = t.principal_id),
    'creator', (select (
    select jsonb_build_object(
      'id', person.id, 'role', person.role, 'scope', person.scope, 'organizationId', person.organization_id, 'workspaceId', person.workspace_id,
      'isActive', person.is_active and person.deleted_at is null and home.purged_at is null,
      'isFactorRequired', coalesce(rules.require_mfa, false),
      'hasFactor', exists (select from totp_factors f where f.user_id = person.id and f.confirmed_at is not null),
      'grants', coalesce((select jsonb_object_agg(g.workspace_id, g.role) from workspace_grants g where g.user_id = person.id), '{}'))
    from users person
    left join organizations home on home.id = person.organization_id
    left join organization_settings rules on rules.organization_id = person.organization_id
    where person.id = k.created_by_user_id) from service_keys k where t.principal_kind = 'service_key' and k.id = t.principal_id),
    'client', (select jsonb_build_object(
  'id', c.id, 'clientId', c.client_id, 'kind', c.kind, 'clientName', c.client_name, 'redirectUris', to_jsonb(c.redirect_uris),
  'authMethod', c.token_endpoint_auth_method, 'secretHash', encode(c.secret_hash, 'hex'), 'registrationHash', encode(c.registration_hash, 'hex'),
  'grantTypes', to_jsonb(c.grant_types), 'scope', c.scope, 'organizationId', c.organization_id, 'workspaceId', c.workspace_id, 'role', c.role,
  'isDocumentFresh', coalesce(c.document_expires_at > now(), false), 'createdAt', c.created_at, 'lastUsedAt', c.last_used_at,
  'generation', coalesce(floor(extract(epoch from c.secret_rotated_at) * 1000), 0), 'isDeleted', c.deleted_at is not null,
  'isHomeGone', exists (select from organizations home where home.id = c.organization_id and home.purged_at is not null)) from oauth_clients c where t.principal_kind = 'oauth_client' and c.id = t.principal_id),
    'acting', (
    select jsonb_build_object(
      'id', person.id, 'role', person.role, 'scope', person.scope, 'organizationId', person.organization_id, 'workspaceId', person.workspace_id,
      'isActive', person.is_active and person.deleted_at is null and home.purged_at is null,
      'isFactorRequired', coalesce(rules.require_mfa, false),
      'hasFactor', exists (select from totp_factors f where f.user_id = person.id and f.confirmed_at is not null),
      'grants', coalesce((select jsonb_object_agg(g.workspace_id, g.role) from workspace_grants g where g.user_id = person.id), '{}'))
    from users person
    left join organizations home on home.id = person.organization_id
    left join organization_settings rules on rules.organization_id = person.organization_id
    where person.id = t.acting_user_id),
    'impersonation', (
      select jsonb_build_object(
  'id', i.id, 'isEnded', i.ended_at is not null, 'isOver', i.expires_at <= now(),
  'operator', (
    select jsonb_build_object(
      'id', person.id, 'role', person.role, 'scope', person.scope, 'organizationId', person.organization_id, 'workspaceId', person.workspace_id,
      'isActive', person.is_active and person.deleted_at is null and home.purged_at is null,
      'isFactorRequired', coalesce(rules.require_mfa, false),
      'hasFactor', exists (select from totp_factors f where f.user_id = person.id and f.confirmed_at is not null),
      'grants', coalesce((select jsonb_object_agg(g.workspace_id, g.role) from workspace_grants g where g.user_id = person.id), '{}'))
    from users person
    left join organizations home on home.id = person.organization_id
    left join organization_settings rules on rules.organization_id = person.organization_id
    where person.id = i.operator_user_id), 'person', (
    select jsonb_build_object(
      'id', person.id, 'role', person.role, 'scope', person.scope, 'organizationId', person.organization_id, 'workspaceId', person.workspace_id,
      'isActive', person.is_active and person.deleted_at is null and home.purged_at is null,
      'isFactorRequired', coalesce(rules.require_mfa, false),
      'hasFactor', exists (select from totp_factors f where f.user_id = person.id and f.confirmed_at is not null),
      'grants', coalesce((select jsonb_object_agg(g.workspace_id, g.role) from workspace_grants g where g.user_id = person.id), '{}'))
    from users person
    left join organizations home on home.id = person.organization_id
    left join organization_settings rules on rules.organization_id = person.organization_id
    where person.id = i.target_user_id)) from impersonations i where t.principal_kind = 'impersonation' and i.id = t.principal_id));
end
$gate$;
create or replace function gate_oauth_code(p_hash bytea) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$
  select jsonb_build_object(
    'clientId', a.client_id, 'redirectUri', a.redirect_uri, 'codeChallenge', a.code_challenge, 'scope', a.scope, 'resource', a.resource,
    'sessionId', a.session_id, 'wasUsed', a.used_at is not null,
    'isOver', a.expires_at <= now() or not (a.approver_session_id is null or exists (select from sessions s where s.id = a.approver_session_id and (s.revoked_at is null or s.revoke_reason = 'logout') and (case when not exists (select from organization_settings rules where rules.organization_id = s.organization_id and rules.require_mfa) then null when not exists (select from totp_factors own where own.user_id = s.user_id and own.confirmed_at is not null) then 'enrolment_required'
    when s.mfa_level = 'none' then 'step_up_required' end) is null)),
    'person', (
    select jsonb_build_object(
      'id', person.id, 'role', person.role, 'scope', person.scope, 'organizationId', person.organization_id, 'workspaceId', person.workspace_id,
      'isActive', person.is_active and person.deleted_at is null and home.purged_at is null,
      'isFactorRequired', coalesce(rules.require_mfa, false),
      'hasFactor', exists (select from totp_factors f where f.user_id = person.id and f.confirmed_at is not null),
      'grants', coalesce((select jsonb_object_agg(g.workspace_id, g.role) from workspace_grants g where g.user_id = person.id), '{}'))
    from users person
    left join organizations home on home.id = person.organization_id
    left join organization_settings rules on rules.organization_id = person.organization_id
    where person.id = a.user_id), 'idleDays', st.session_idle_days, 'absoluteDays', st.session_absolute_days)
  from oauth_codes a
  left join organization_settings st on st.organization_id = a.organization_id
  where a.code_hash = p_hash
$gate$;
create or replace function gate_oauth_refresh(p_hash bytea) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$
  select jsonb_build_object(
    'session', jsonb_build_object(
  'id', s.id, 'userId', s.user_id, 'kind', s.kind, 'clientId', s.client_id, 'oauthScope', s.oauth_scope, 'resource', s.resource, 'lastSeenAt', s.last_seen_at,
  'freshUntil', (case when s.kind = 'login' and (s.mfa_level <> 'none' or not exists (select from totp_factors own where own.user_id = s.user_id and own.confirmed_at is not null)) then s.verified_at + interval '10 minutes' end), 'restriction', (case when not exists (select from organization_settings rules where rules.organization_id = s.organization_id and rules.require_mfa) then null when not exists (select from totp_factors own where own.user_id = s.user_id and own.confirmed_at is not null) then 'enrolment_required'
    when s.mfa_level = 'none' then 'step_up_required' end), 'isRevoked', (s.revoked_at is not null or (s.client_id is not null and not exists (
    select from oauth_clients holder where holder.client_id = s.client_id and holder.deleted_at is null))),
  'isOver', least(s.idle_expires_at, s.expires_at) <= now()), 'person', (
    select jsonb_build_object(
      'id', person.id, 'role', person.role, 'scope', person.scope, 'organizationId', person.organization_id, 'workspaceId', person.workspace_id,
      'isActive', person.is_active and person.deleted_at is null and home.purged_at is null,
      'isFactorRequired', coalesce(rules.require_mfa, false),
      'hasFactor', exists (select from totp_factors f where f.user_id = person.id and f.confirmed_at is not null),
      'grants', coalesce((select jsonb_object_agg(g.workspace_id, g.role) from workspace_grants g where g.user_id = person.id), '{}'))
    from users person
    left join organizations home on home.id = person.organization_id
    left join organization_settings rules on rules.organization_id = person.organization_id
    where person.id = s.user_id), 'scope', coalesce(t.oauth_scope, s.oauth_scope),
    'isLive', t.used_at is null and t.expires_at > now(), 'expiresAt', t.expires_at, 'createdAt', t.created_at, 'idleDays', st.session_idle_days)
  from refresh_tokens t
  join sessions s on s.id = t.session_id
  left join organization_settings st on st.organization_id = s.organization_id
  where t.token_hash = p_hash and s.kind = 'oauth'
$gate$;
reset role;
revoke create on schema public from longhaul_gate;
