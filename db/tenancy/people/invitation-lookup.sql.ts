import { lookupFunction, personOf, type DefinerFunctions } from '../../identity/lookup/lookup-parts.sql.ts';

/**
 * Definer functions about joining and leaving an organization. The first runs before a tenant is known and requires token and address together; the others
 * repeat the tenant predicate: they reach workspaces that a caller of a single workspace doesn't see.
 */
const functions = [
  'gate_invitation(bytea, text)',
  'gate_pending_invitations(uuid)',
  'gate_expire_invitation(uuid, text)',
  'gate_leave(uuid, boolean)',
] as const;

const grants: DefinerFunctions['grants'] = {
  invitations: ['select', 'update', 'delete'],
  organizations: ['select'],
  organization_settings: ['select'],
  workspaces: ['select'],
  users: ['select'],
  sessions: ['select'],
  oauth_clients: ['select'],
  impersonations: ['update'],
  service_keys: ['select', 'update'],
  workspace_grants: ['select', 'delete'],
};

/** Whether the key, grant or client that made an invitation has not been ended; one that merely expired was valid while it lasted. */
const credentialStands = `(case i.credential_kind
      when 'service_key' then exists (select from service_keys k where k.id = i.credential_id and k.revoked_at is null)
      when 'oauth_grant' then exists (select from sessions s join oauth_clients c on c.client_id = s.client_id
        where s.id = i.credential_id and s.revoked_at is null and c.deleted_at is null)
      when 'oauth_client' then exists (select from oauth_clients c where c.id = i.credential_id and c.deleted_at is null)
      else true end)`;

const sql: readonly string[] = [
  lookupFunction(
    'gate_invitation(p_hash bytea, p_email text)',
    `
  select jsonb_build_object(
    'id', i.id, 'organizationId', i.organization_id, 'workspaceId', i.workspace_id, 'scope', i.scope, 'role', i.role,
    'isOpen', i.status = 'pending' and i.expires_at > now() and o.purged_at is null,
    'hasInviter', i.invited_by_user_id is not null,
    'inviter', ${personOf('i.invited_by_user_id')},
    'isUnvouched', i.unvouched_at is not null or not ${credentialStands},
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
`,
  ),
  lookupFunction(
    'gate_pending_invitations(p_organization uuid)',
    `
  select to_jsonb(count(*)) from invitations i
  where i.organization_id = p_organization and i.status = 'pending' and i.expires_at > now()
    and (app_operator() or p_organization = app_org())
`,
  ),
  expireGate(),
  leaveGate(),
];

export const invitationFunctions: DefinerFunctions = { functions, grants, sql };

// An expired invitation releases its address, wherever in the organization it was; returns whether there was one.
function expireGate(): string {
  return `create or replace function gate_expire_invitation(p_organization uuid, p_email text) returns jsonb
  language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $gate$
  with ended as (
    update invitations set status = 'revoked', version = version + 1, updated_at = now()
    where organization_id = p_organization and email = p_email and status = 'pending' and expires_at <= now()
      and (app_operator() or p_organization = app_org())
    returning id)
  select to_jsonb(exists (select from ended))
$gate$`;
}

// Returns the ids of the revoked keys. Invitations stay, so that another user can send them anew; nothing comes back with the person. What a person has made
// and holds may lie in workspaces that the caller who ends them doesn't see.
function leaveGate(): string {
  return `create or replace function gate_leave(p_user uuid, p_erase boolean) returns jsonb
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
$gate$`;
}
