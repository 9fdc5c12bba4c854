-- Organizations, workspaces, people, data keys.

create table organizations (
  id uuid not null,
  name text not null,
  slug text not null,
  timezone text not null default 'UTC',
  status text not null default 'active',
  suspended_at timestamptz(3),
  suspended_reason text,
  delete_after timestamptz(3),
  purged_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version int not null default 1,
  primary key (id),
  constraint organizations_delete_after check ((status = 'deleting') = (delete_after is not null)),
  constraint organizations_status_check check (status in ('active', 'suspended', 'deleting'))
);
create unique index organizations_slug_key on organizations (slug);
alter table organizations enable row level security, force row level security;
create policy app_select on organizations for select to longhaul_app using ((select app_operator()) or id = (select app_org()));
create policy app_insert on organizations for insert to longhaul_app with check ((select app_operator()) or id = (select app_org()));
create policy app_update on organizations for update to longhaul_app using ((select app_operator()) or id = (select app_org())) with check ((select app_operator()) or id = (select app_org()));
create policy app_delete on organizations for delete to longhaul_app using ((select app_operator()) or id = (select app_org()));
create policy sweeper_all on organizations to longhaul_sweeper using (true) with check (true);
create policy gate_select on organizations for select to longhaul_gate using (true);

create table organization_settings (
  organization_id uuid not null,
  require_mfa boolean not null default false,
  allowed_email_domains text[] not null default '{}',
  session_idle_days int not null default 14,
  session_absolute_days int not null default 90,
  invitation_days int not null default 7,
  audit_retention_days int not null default 400,
  failed_login_retention_days int not null default 90,
  delivery_retention_days int not null default 30,
  workspace_retention_days int not null default 90,
  run_retention_days int,
  egress_allowlist jsonb not null default '[]',
  git_installations jsonb not null default '[]',
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version int not null default 1,
  primary key (organization_id),
  constraint organization_settings_session_days check (session_idle_days <= session_absolute_days)
);
alter table organization_settings enable row level security, force row level security;
create policy app_select on organization_settings for select to longhaul_app using ((select app_operator()) or organization_id = (select app_org()));
create policy app_insert on organization_settings for insert to longhaul_app with check ((select app_operator()) or organization_id = (select app_org()));
create policy app_update on organization_settings for update to longhaul_app using ((select app_operator()) or organization_id = (select app_org())) with check ((select app_operator()) or organization_id = (select app_org()));
create policy app_delete on organization_settings for delete to longhaul_app using ((select app_operator()) or organization_id = (select app_org()));
create policy sweeper_all on organization_settings to longhaul_sweeper using (true) with check (true);
create policy gate_select on organization_settings for select to longhaul_gate using (true);

create table workspaces (
  id uuid not null,
  organization_id uuid not null,
  slug text not null,
  name text not null,
  description text,
  timezone text not null default 'UTC',
  currency char(3) not null default 'USD',
  is_active boolean not null default true,
  archived_at timestamptz(3),
  purge_after timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version int not null default 1,
  primary key (id),
  constraint workspaces_tenant_key unique (id, organization_id)
);
create index workspaces_organization_idx on workspaces (organization_id, id desc);
create unique index workspaces_slug_key on workspaces (organization_id, slug);
alter table workspaces enable row level security, force row level security;
create policy app_select on workspaces for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and ((select app_ws_all()) or id = any ((select app_ws())::uuid[]))));
create policy app_insert on workspaces for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and ((select app_ws_all()) or id = any ((select app_ws())::uuid[]))));
create policy app_update on workspaces for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and ((select app_ws_all()) or id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and ((select app_ws_all()) or id = any ((select app_ws())::uuid[]))));
create policy app_delete on workspaces for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and ((select app_ws_all()) or id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on workspaces to longhaul_sweeper using (true) with check (true);
create policy gate_select on workspaces for select to longhaul_gate using (true);

create table users (
  id uuid not null,
  email text not null,
  full_name text,
  role text not null,
  scope text not null,
  organization_id uuid,
  workspace_id uuid,
  is_active boolean not null default true,
  locale text,
  last_login_at timestamptz(3),
  deactivated_at timestamptz(3),
  deleted_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version int not null default 1,
  primary key (id),
  constraint users_scope_columns check ((scope = 'platform' and organization_id is null and workspace_id is null) or (scope = 'organization' and organization_id is not null and workspace_id is null) or (scope = 'workspace' and organization_id is not null and workspace_id is not null)),
  constraint users_email_folded check (email = lower(email)),
  constraint users_operator_is_platform check ((role = 'operator') = (scope = 'platform')),
  constraint users_role_check check (role in ('viewer', 'member', 'admin', 'owner', 'operator')),
  constraint users_scope_check check (scope in ('workspace', 'organization', 'platform'))
);
create index users_organization_idx on users (organization_id, id desc);
create index users_workspace_idx on users (workspace_id);
create unique index users_email_key on users (email) where deleted_at is null;
alter table users enable row level security, force row level security;
create policy app_select on users for select to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or id = (select app_user()));
create policy app_insert on users for insert to longhaul_app with check ((select app_operator()) or organization_id = (select app_org()) or id = (select app_user()));
create policy app_update on users for update to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or id = (select app_user())) with check ((select app_operator()) or organization_id = (select app_org()) or id = (select app_user()));
create policy app_delete on users for delete to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or id = (select app_user()));
create policy sweeper_all on users to longhaul_sweeper using (true) with check (true);
create policy gate_select on users for select to longhaul_gate using (true);

create table workspace_grants (
  workspace_id uuid not null,
  user_id uuid not null,
  organization_id uuid not null,
  role text not null,
  granted_by_user_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version int not null default 1,
  primary key (workspace_id, user_id),
  constraint workspace_grants_role_check check (role in ('viewer', 'member', 'admin', 'owner'))
);
create index workspace_grants_user_idx on workspace_grants (user_id);
alter table workspace_grants enable row level security, force row level security;
create policy app_select on workspace_grants for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on workspace_grants for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on workspace_grants for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on workspace_grants for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on workspace_grants to longhaul_sweeper using (true) with check (true);
create policy gate_select on workspace_grants for select to longhaul_gate using (true);

create table data_keys (
  id uuid not null,
  organization_id uuid,
  wrapped bytea not null,
  kek_id text not null,
  retired_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (id)
);
create unique index data_keys_live_key on data_keys (organization_id) nulls not distinct where retired_at is null;
alter table data_keys enable row level security, force row level security;
create policy app_select on data_keys for select to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or organization_id is null);
create policy app_insert on data_keys for insert to longhaul_app with check ((select app_operator()) or organization_id = (select app_org()) or organization_id is null);
create policy app_update on data_keys for update to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or organization_id is null) with check ((select app_operator()) or organization_id = (select app_org()) or organization_id is null);
create policy app_delete on data_keys for delete to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or organization_id is null);
create policy sweeper_all on data_keys to longhaul_sweeper using (true) with check (true);
