-- Definer functions that know more than before; a test holds them against the code.

grant create on schema public to longhaul_gate;
set local role longhaul_gate;
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
    'isUnvouched', i.unvouched_at is not null or not (case i.credential_kind
      when 'service_key' then exists (select from service_keys k where k.id = i.credential_id and k.revoked_at is null)
      when 'oauth_grant' then exists (select from sessions s join oauth_clients c on c.client_id = s.client_id
        where s.id = i.credential_id and s.revoked_at is null and c.deleted_at is null)
      when 'oauth_client' then exists (select from oauth_clients c where c.id = i.credential_id and c.deleted_at is null)
      else true end),
    'emailDomains', to_jsonb(coalesce(st.allowed_email_domains, '{}')),
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
  -- After the keys: whoever invites by one holds its row.
  update invitations set unvouched_at = now(), updated_at = now(), version = version + 1
  where invited_by_user_id = u.id and status = 'pending' and unvouched_at is null;
  update impersonations set ended_at = now()
  where (operator_user_id = u.id or target_user_id = u.id) and ended_at is null and expires_at > now();
  if p_erase then
    delete from workspace_grants where user_id = u.id;
    delete from invitations where organization_id = u.organization_id and (email = u.email or accepted_user_id = u.id);
  end if;
  return dead;
end
$gate$;
reset role;
revoke create on schema public from longhaul_gate;
