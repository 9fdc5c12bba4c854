-- Definer functions of this release; they belong to longhaul_gate. A test holds them against the code.

grant create on schema public to longhaul_gate;
set local role longhaul_gate;
create or replace function gate_session(p_session uuid, p_user uuid, p_acting uuid, p_view_organization uuid, p_view_workspace uuid) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$
  select jsonb_build_object(
    'session', jsonb_build_object(
  'id', s.id, 'userId', s.user_id, 'kind', s.kind, 'clientId', s.client_id, 'oauthScope', s.oauth_scope, 'resource', s.resource, 'verifiedAt', s.verified_at, 'lastSeenAt', s.last_seen_at,
  'isRevoked', s.revoked_at is not null or (s.client_id is not null and not exists (
    select from oauth_clients holder where holder.client_id = s.client_id and holder.deleted_at is null)),
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
create or replace function gate_service_key(p_hashes bytea[], p_acting uuid) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$
  select jsonb_build_object('key', jsonb_build_object(
  'id', k.id, 'organizationId', k.organization_id, 'workspaceId', k.workspace_id, 'scope', k.scope, 'role', k.role, 'scopes', to_jsonb(k.scopes),
  'lastUsedAt', k.last_used_at, 'isDead', k.revoked_at is not null or coalesce(k.expires_at <= now(), false)), 'creator', (
    select jsonb_build_object(
      'id', person.id, 'role', person.role, 'scope', person.scope, 'organizationId', person.organization_id, 'workspaceId', person.workspace_id,
      'isActive', person.is_active and person.deleted_at is null and home.purged_at is null,
      'isFactorRequired', coalesce(rules.require_mfa, false),
      'hasFactor', exists (select from totp_factors f where f.user_id = person.id and f.confirmed_at is not null),
      'grants', coalesce((select jsonb_object_agg(g.workspace_id, g.role) from workspace_grants g where g.user_id = person.id), '{}'))
    from users person
    left join organizations home on home.id = person.organization_id
    left join organization_settings rules on rules.organization_id = person.organization_id
    where person.id = k.created_by_user_id), 'acting', (
    select jsonb_build_object(
      'id', person.id, 'role', person.role, 'scope', person.scope, 'organizationId', person.organization_id, 'workspaceId', person.workspace_id,
      'isActive', person.is_active and person.deleted_at is null and home.purged_at is null,
      'isFactorRequired', coalesce(rules.require_mfa, false),
      'hasFactor', exists (select from totp_factors f where f.user_id = person.id and f.confirmed_at is not null),
      'grants', coalesce((select jsonb_object_agg(g.workspace_id, g.role) from workspace_grants g where g.user_id = person.id), '{}'))
    from users person
    left join organizations home on home.id = person.organization_id
    left join organization_settings rules on rules.organization_id = person.organization_id
    where person.id = p_acting))
  from service_keys k
  where k.key_hash = any (p_hashes)
  limit 1
$gate$;
create or replace function gate_login(p_email text) returns jsonb
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
    'passwordHash', c.password_hash,
    'idleDays', st.session_idle_days,
    'absoluteDays', st.session_absolute_days)
  from users u
  left join user_credentials c on c.user_id = u.id
  left join organization_settings st on st.organization_id = u.organization_id
  where u.email = p_email and u.deleted_at is null
$gate$;
create or replace function gate_refresh(p_hash bytea) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$
  select jsonb_build_object('session', jsonb_build_object(
  'id', s.id, 'userId', s.user_id, 'kind', s.kind, 'clientId', s.client_id, 'oauthScope', s.oauth_scope, 'resource', s.resource, 'verifiedAt', s.verified_at, 'lastSeenAt', s.last_seen_at,
  'isRevoked', s.revoked_at is not null or (s.client_id is not null and not exists (
    select from oauth_clients holder where holder.client_id = s.client_id and holder.deleted_at is null)),
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
    'isFactorRequired', coalesce(st.require_mfa, false))
  from users u
  join sessions s on s.id = p_session and s.user_id = u.id
  left join user_credentials c on c.user_id = u.id
  left join totp_factors f on f.user_id = u.id and f.confirmed_at is not null
  left join organization_settings st on st.organization_id = u.organization_id
  where u.id = p_user
$gate$;
create or replace function gate_challenge(p_challenge uuid) returns jsonb
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
    'idleDays', st.session_idle_days,
    'absoluteDays', st.session_absolute_days)
  from auth_challenges c
  join users u on u.id = c.user_id
  left join organization_settings st on st.organization_id = u.organization_id
  where c.id = p_challenge and c.purpose = 'login'
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
    'isOpen', c.used_at is null and c.expires_at > now())
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
    'session', (select jsonb_build_object(
  'id', s.id, 'userId', s.user_id, 'kind', s.kind, 'clientId', s.client_id, 'oauthScope', s.oauth_scope, 'resource', s.resource, 'verifiedAt', s.verified_at, 'lastSeenAt', s.last_seen_at,
  'isRevoked', s.revoked_at is not null or (s.client_id is not null and not exists (
    select from oauth_clients holder where holder.client_id = s.client_id and holder.deleted_at is null)),
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
create or replace function gate_oauth_client(p_client text) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$select jsonb_build_object(
  'id', c.id, 'clientId', c.client_id, 'kind', c.kind, 'clientName', c.client_name, 'redirectUris', to_jsonb(c.redirect_uris),
  'authMethod', c.token_endpoint_auth_method, 'secretHash', encode(c.secret_hash, 'hex'), 'registrationHash', encode(c.registration_hash, 'hex'),
  'grantTypes', to_jsonb(c.grant_types), 'scope', c.scope, 'organizationId', c.organization_id, 'workspaceId', c.workspace_id, 'role', c.role,
  'isDocumentFresh', coalesce(c.document_expires_at > now(), false), 'createdAt', c.created_at, 'lastUsedAt', c.last_used_at,
  'generation', coalesce(floor(extract(epoch from c.secret_rotated_at) * 1000), 0), 'isDeleted', c.deleted_at is not null,
  'isHomeGone', exists (select from organizations home where home.id = c.organization_id and home.purged_at is not null)) from oauth_clients c where c.client_id = p_client$gate$;
create or replace function gate_oauth_code(p_hash bytea) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$
  select jsonb_build_object(
    'clientId', a.client_id, 'redirectUri', a.redirect_uri, 'codeChallenge', a.code_challenge, 'scope', a.scope, 'resource', a.resource,
    'sessionId', a.session_id, 'wasUsed', a.used_at is not null, 'isOver', a.expires_at <= now(),
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
  'id', s.id, 'userId', s.user_id, 'kind', s.kind, 'clientId', s.client_id, 'oauthScope', s.oauth_scope, 'resource', s.resource, 'verifiedAt', s.verified_at, 'lastSeenAt', s.last_seen_at,
  'isRevoked', s.revoked_at is not null or (s.client_id is not null and not exists (
    select from oauth_clients holder where holder.client_id = s.client_id and holder.deleted_at is null)),
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
create or replace function gate_end_oauth_sessions(p_client text) returns jsonb
  language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $gate$
  with ended as (
    update sessions set revoked_at = now(), revoke_reason = 'client_deleted'
    where client_id = p_client and kind = 'oauth' and revoked_at is null
    returning id)
  select coalesce(jsonb_agg(id), '[]') from ended
$gate$;
create or replace function gate_invitation(p_hash bytea, p_email text) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$
  select jsonb_build_object(
    'id', i.id, 'organizationId', i.organization_id, 'workspaceId', i.workspace_id, 'scope', i.scope, 'role', i.role,
    'isOpen', i.status = 'pending' and i.expires_at > now() and o.purged_at is null,
    'hasInviter', i.invited_by_user_id is not null,
    'inviter', (
    select jsonb_build_object(
      'id', person.id, 'role', person.role, 'scope', person.scope, 'organizationId', person.organization_id, 'workspaceId', person.workspace_id,
      'isActive', person.is_active and person.deleted_at is null and home.purged_at is null,
      'isFactorRequired', coalesce(rules.require_mfa, false),
      'hasFactor', exists (select from totp_factors f where f.user_id = person.id and f.confirmed_at is not null),
      'grants', coalesce((select jsonb_object_agg(g.workspace_id, g.role) from workspace_grants g where g.user_id = person.id), '{}'))
    from users person
    left join organizations home on home.id = person.organization_id
    left join organization_settings rules on rules.organization_id = person.organization_id
    where person.id = i.invited_by_user_id),
    'organizationStatus', o.status,
    'isWorkspaceActive', w.is_active,
    'isFactorRequired', coalesce(st.require_mfa, false),
    'idleDays', st.session_idle_days,
    'absoluteDays', st.session_absolute_days,
    'isUser', u.id is not null,
    'isMember', coalesce(u.organization_id = i.organization_id, false))
  from invitations i
  join organizations o on o.id = i.organization_id
  left join workspaces w on w.id = i.workspace_id
  left join organization_settings st on st.organization_id = i.organization_id
  left join users u on u.email = i.email and u.deleted_at is null
  where i.token_hash = p_hash and i.email = p_email
$gate$;
create or replace function gate_pending_invitations(p_organization uuid) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$
  select to_jsonb(count(*)) from invitations i
  where i.organization_id = p_organization and i.status = 'pending' and i.expires_at > now()
    and (app_operator() or p_organization = app_org())
$gate$;
create or replace function gate_expire_invitation(p_organization uuid, p_email text) returns jsonb
  language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $gate$
  with ended as (
    update invitations set status = 'revoked', version = version + 1, updated_at = now()
    where organization_id = p_organization and email = p_email and status = 'pending' and expires_at <= now()
      and (app_operator() or p_organization = app_org())
    returning id)
  select to_jsonb(exists (select from ended))
$gate$;
create or replace function gate_leave(p_user uuid, p_erase boolean) returns jsonb
  language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $gate$
declare
  u users;
  dead jsonb;
begin
  select * into u from users where id = p_user and (app_operator() or organization_id = app_org());
  if not found then
    return '[]';
  end if;
  with ended as (
    update service_keys set revoked_at = now(), updated_at = now(), version = version + 1
    where created_by_user_id = u.id and revoked_at is null returning id)
  select coalesce(jsonb_agg(id), '[]') into dead from ended;
  if p_erase then
    delete from workspace_grants where user_id = u.id;
    delete from invitations where organization_id = u.organization_id and (email = u.email or accepted_user_id = u.id);
  end if;
  return dead;
end
$gate$;
create or replace function gate_impersonation(p_hash bytea) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$
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
    where person.id = i.target_user_id))
  from impersonations i
  where i.token_hash = p_hash
$gate$;
create or replace function append_frames(batches jsonb, lock_wait_ms integer) returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, public, pg_temp
set lock_timeout = '5s'
as $append$
declare
  run_ids uuid[];
  one record;
  found_row record;
  texts text[];
  is_advisory boolean[];
  front text;
  still_open uuid[];
  first_number bigint;
  last_number bigint;
  copies text[];
  copy_first bigint;
  answers jsonb[] := '{}';
begin
  perform set_config('lock_timeout', lock_wait_ms::text, true);

  select array_agg(distinct (item ->> 'run')::uuid) into run_ids from jsonb_array_elements(batches) as item;
  select run_ids || array_agg(s.root_run_id) into run_ids from run_streams s where s.run_id = any (run_ids);
  perform 1 from run_streams s where s.run_id = any (run_ids) order by s.run_id for no key update;

  for one in
    select b.* from jsonb_to_recordset(batches) as b(run uuid, workspace uuid, scope text, attempt integer, batch integer,
      texts text[], advisory boolean[], opens uuid[], completes uuid[], ends boolean, front text)
  loop
    select s.organization_id, s.head_seq, s.ended, s.cancel_requested, s.root_run_id,
        r.head_seq as root_head, coalesce(not r.ended, false) as has_root,
        k.attempt, k.batch, k.first_seq, k.last_seq, coalesce(k.open_message_ids, '{}') as open_message_ids
      into found_row
      from run_streams s
      left join run_streams r on r.run_id = s.root_run_id and s.root_run_id <> s.run_id
      left join run_stream_scopes k on k.run_id = s.run_id and k.scope = one.scope
      where s.run_id = one.run and s.workspace_id = one.workspace;

    if not found or found_row.ended then
      answers := answers || jsonb_build_object('result', 'ended', 'cancel', coalesce(found_row.cancel_requested, true));
      continue;
    end if;
    if found_row.attempt > one.attempt then
      answers := answers || jsonb_build_object('result', 'fenced', 'cancel', found_row.cancel_requested);
      continue;
    end if;
    if found_row.attempt = one.attempt and found_row.batch >= one.batch then
      answers := answers || jsonb_build_object('result', 'repeat', 'cancel', found_row.cancel_requested,
        'first', case when found_row.batch = one.batch then found_row.first_seq end,
        'last', case when found_row.batch = one.batch then found_row.last_seq end);
      continue;
    end if;

    texts := one.texts;
    is_advisory := one.advisory;
    still_open := found_row.open_message_ids;
    front := null;
    if one.attempt > coalesce(found_row.attempt, 1) then
      if left(one.scope, 1) = 's' then
        if one.front is null then
          raise exception 'batch of a new attempt without its announcement';
        end if;
        front := replace(one.front, '"discarded_message_ids":[]', '"discarded_message_ids":' || to_json(still_open)::text);
        if found_row.cancel_requested then
          front := replace(front, '"status":"running","previous":"running"', '"status":"cancelling","previous":"cancelling"');
        end if;
        texts := front || texts;
        is_advisory := false || is_advisory;
      end if;
      still_open := '{}';
    end if;

    first_number := found_row.head_seq + 1;
    last_number := found_row.head_seq + cardinality(texts);
    copy_first := null;
    if cardinality(texts) > 0 then
      insert into run_frame_chunks (run_id, organization_id, workspace_id, first_seq, last_seq, frames, created_at)
        select one.run, found_row.organization_id, one.workspace, first_number, last_number,
          array_agg('{"v":2,"seq":' || (found_row.head_seq + t.n) || ',' || t.text order by t.n), now()
        from unnest(texts) with ordinality as t(text, n);

      if found_row.has_root then
        select array_agg('{"v":2,"seq":' || (found_row.root_head + c.copy_no) || ',"origin_seq":' || (found_row.head_seq + c.n) || ',' || c.text order by c.n)
          into copies
          from (select t.text, t.n, row_number() over (order by t.n) as copy_no
            from unnest(texts, is_advisory) with ordinality as t(text, advisory, n) where not t.advisory) c;
        if copies is not null then
          copy_first := found_row.root_head + 1;
          insert into run_frame_chunks (run_id, organization_id, workspace_id, first_seq, last_seq, frames, created_at)
            values (found_row.root_run_id, found_row.organization_id, one.workspace, copy_first, found_row.root_head + cardinality(copies), copies, now());
          update run_streams set head_seq = found_row.root_head + cardinality(copies), updated_at = now() where run_id = found_row.root_run_id;
        end if;
      end if;

      update run_streams set head_seq = last_number, ended = one.ends, updated_at = now() where run_id = one.run;
    end if;

    if one.ends then
      delete from run_stream_scopes where run_id = one.run;
    elsif one.scope is not null then
      still_open := array(select distinct id from unnest(still_open || one.opens) as id where id <> all (one.completes));
      insert into run_stream_scopes (run_id, organization_id, workspace_id, scope, attempt, batch, first_seq, last_seq, open_message_ids)
        values (one.run, found_row.organization_id, one.workspace, one.scope, one.attempt, one.batch, first_number, last_number, still_open)
        on conflict (run_id, scope) do update set attempt = excluded.attempt, batch = excluded.batch,
          first_seq = excluded.first_seq, last_seq = excluded.last_seq, open_message_ids = excluded.open_message_ids;
    end if;

    answers := answers || jsonb_build_object('result', 'ok', 'first', first_number, 'last', last_number, 'cancel', found_row.cancel_requested,
      'front', front, 'copy_first', copy_first, 'copy_last', case when copy_first is not null then found_row.root_head + cardinality(copies) end);
  end loop;

  return to_jsonb(answers);
end
$append$;
revoke all on function gate_session(uuid, uuid, uuid, uuid, uuid) from public;
revoke all on function gate_service_key(bytea[], uuid) from public;
revoke all on function gate_login(text) from public;
revoke all on function gate_refresh(bytea) from public;
revoke all on function gate_stream_token(bytea, uuid) from public;
revoke all on function gate_holder(uuid, uuid) from public;
revoke all on function gate_challenge(uuid) from public;
revoke all on function gate_mail_token(bytea, text) from public;
revoke all on function gate_oauth_client(text) from public;
revoke all on function gate_oauth_code(bytea) from public;
revoke all on function gate_oauth_refresh(bytea) from public;
revoke all on function gate_end_oauth_sessions(text) from public;
revoke all on function gate_invitation(bytea, text) from public;
revoke all on function gate_pending_invitations(uuid) from public;
revoke all on function gate_expire_invitation(uuid, text) from public;
revoke all on function gate_leave(uuid, boolean) from public;
revoke all on function gate_impersonation(bytea) from public;
revoke all on function append_frames(jsonb, integer) from public;
grant execute on function gate_session(uuid, uuid, uuid, uuid, uuid) to longhaul_app;
grant execute on function gate_service_key(bytea[], uuid) to longhaul_app;
grant execute on function gate_login(text) to longhaul_app;
grant execute on function gate_refresh(bytea) to longhaul_app;
grant execute on function gate_stream_token(bytea, uuid) to longhaul_app;
grant execute on function gate_holder(uuid, uuid) to longhaul_app;
grant execute on function gate_challenge(uuid) to longhaul_app;
grant execute on function gate_mail_token(bytea, text) to longhaul_app;
grant execute on function gate_oauth_client(text) to longhaul_app;
grant execute on function gate_oauth_code(bytea) to longhaul_app;
grant execute on function gate_oauth_refresh(bytea) to longhaul_app;
grant execute on function gate_end_oauth_sessions(text) to longhaul_app;
grant execute on function gate_invitation(bytea, text) to longhaul_app;
grant execute on function gate_pending_invitations(uuid) to longhaul_app;
grant execute on function gate_expire_invitation(uuid, text) to longhaul_app;
grant execute on function gate_leave(uuid, boolean) to longhaul_app;
grant execute on function gate_impersonation(bytea) to longhaul_app;
grant execute on function append_frames(jsonb, integer) to longhaul_app;
reset role;
revoke create on schema public from longhaul_gate;
