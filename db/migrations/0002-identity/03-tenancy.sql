-- Invitations, secrets.

create table invitations (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid,
  scope text not null,
  email text not null,
  role text not null,
  token_hash bytea not null,
  status text not null default 'pending',
  invited_by_user_id uuid,
  expires_at timestamptz(3) not null,
  sent_at timestamptz(3),
  send_count int not null default 0,
  queued_at timestamptz(3) not null default now(),
  resend_count int not null default 0,
  accepted_at timestamptz(3),
  accepted_user_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version int not null default 1,
  primary key (id),
  constraint invitations_scope_columns check ((scope = 'workspace') = (workspace_id is not null)),
  constraint invitations_scope_check check (scope in ('workspace', 'organization')),
  constraint invitations_role_check check (role in ('viewer', 'member', 'admin', 'owner')),
  constraint invitations_status_check check (status in ('pending', 'accepted', 'revoked'))
);
create index invitations_organization_idx on invitations (organization_id, id desc);
create unique index invitations_token_hash_key on invitations (token_hash);
create unique index invitations_pending_key on invitations (organization_id, email) where status = 'pending';
alter table invitations enable row level security, force row level security;
create policy app_select on invitations for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on invitations for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on invitations for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on invitations for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on invitations to longhaul_sweeper using (true) with check (true);

create table secrets (
  id uuid not null,
  scope text not null,
  organization_id uuid,
  workspace_id uuid,
  tool_id uuid,
  name text not null,
  description text,
  value_envelope bytea not null,
  value_version int not null default 1,
  updated_by_user_id uuid,
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version int not null default 1,
  primary key (id),
  constraint secrets_scope_columns check ((scope = 'platform' and organization_id is null and workspace_id is null) or (scope = 'organization' and organization_id is not null and workspace_id is null) or (scope = 'workspace' and organization_id is not null and workspace_id is not null)),
  constraint secrets_scope_check check (scope in ('workspace', 'organization', 'platform'))
);
create index secrets_organization_idx on secrets (organization_id, id desc);
create index secrets_platform_idx on secrets (id desc) where scope = 'platform';
create unique index secrets_name_workspace_key on secrets (workspace_id, name) where scope = 'workspace' and tool_id is null;
create unique index secrets_name_organization_key on secrets (organization_id, name) where scope = 'organization' and tool_id is null;
create unique index secrets_name_platform_key on secrets (name) where scope = 'platform' and tool_id is null;
create unique index secrets_tool_name_key on secrets (tool_id, name) where tool_id is not null;
alter table secrets enable row level security, force row level security;
create policy app_select on secrets for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on secrets for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on secrets for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on secrets for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on secrets to longhaul_sweeper using (true) with check (true);
