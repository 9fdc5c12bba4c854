-- Toolkits, their revisions, connections of MCP servers.

create table toolkits (
  id uuid not null,
  scope text not null,
  organization_id uuid,
  workspace_id uuid,
  slug text not null,
  name text not null,
  description text,
  kind text not null,
  config jsonb not null default '{}',
  secrets_required text[] not null default '{}',
  active_revision_id uuid,
  is_active boolean not null default true,
  reachable boolean,
  checked_at timestamptz(3),
  server jsonb,
  protocol_version text,
  last_error text,
  next_sync_at timestamptz(3),
  row_version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (id),
  constraint toolkits_tenant_key unique (id, organization_id),
  constraint toolkits_scope_columns check ((scope = 'platform' and organization_id is null and workspace_id is null) or (scope = 'organization' and organization_id is not null and workspace_id is null) or (scope = 'workspace' and organization_id is not null and workspace_id is not null)),
  constraint toolkits_scope_check check (scope in ('workspace', 'organization', 'platform')),
  constraint toolkits_kind_check check (kind in ('mcp', 'openapi', 'manual'))
);
create index toolkits_organization_idx on toolkits (organization_id, id desc);
create index toolkits_platform_idx on toolkits (id desc) where scope = 'platform';
create unique index toolkits_slug_workspace_key on toolkits (workspace_id, slug) where scope = 'workspace' and deleted_at is null;
create unique index toolkits_slug_organization_key on toolkits (organization_id, slug) where scope = 'organization' and deleted_at is null;
create unique index toolkits_slug_platform_key on toolkits (slug) where scope = 'platform' and deleted_at is null;
create index toolkits_next_sync_idx on toolkits (next_sync_at) where next_sync_at is not null and deleted_at is null;
alter table toolkits enable row level security, force row level security;
create policy app_select on toolkits for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or (scope = 'platform' and is_active));
create policy app_insert on toolkits for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on toolkits for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on toolkits for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on toolkits to longhaul_sweeper using (true) with check (true);

create table toolkit_revisions (
  id uuid not null,
  toolkit_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  number int not null,
  state text not null,
  origin text not null,
  tools jsonb not null default '[]',
  diff jsonb not null default '[]',
  quarantined text[] not null default '{}',
  source_hash text,
  server jsonb,
  protocol_version text,
  error text,
  note text,
  created_by jsonb not null,
  activated_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (id),
  constraint toolkit_revisions_toolkit_key unique (id, toolkit_id),
  constraint toolkit_revisions_state_check check (state in ('syncing', 'unchanged', 'inactive', 'failed', 'active', 'superseded')),
  constraint toolkit_revisions_origin_check check (origin in ('sync', 'openapi', 'manual'))
);
create index toolkit_revisions_organization_idx on toolkit_revisions (organization_id, id desc);
create unique index toolkit_revisions_number_key on toolkit_revisions (toolkit_id, number);
create unique index toolkit_revisions_syncing_key on toolkit_revisions (toolkit_id) where state = 'syncing';
alter table toolkit_revisions enable row level security, force row level security;
create policy app_select on toolkit_revisions for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on toolkit_revisions for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on toolkit_revisions for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on toolkit_revisions for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on toolkit_revisions to longhaul_sweeper using (true) with check (true);

create table mcp_connections (
  id uuid not null,
  toolkit_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  principal_kind text not null,
  principal_id uuid,
  issuer text,
  grant_enc bytea,
  scopes text[] not null default '{}',
  expires_at timestamptz(3),
  state text not null,
  last_error text,
  authorization_url text,
  refresh_until timestamptz(3),
  row_version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (id),
  constraint mcp_connections_tenant_key unique (id, organization_id),
  constraint mcp_connections_principal_kind_check check (principal_kind in ('shared', 'user')),
  constraint mcp_connections_state_check check (state in ('healthy', 'needs_auth', 'error'))
);
create unique index mcp_connections_principal_key on mcp_connections (toolkit_id, principal_kind, principal_id) nulls not distinct;
alter table mcp_connections enable row level security, force row level security;
create policy app_select on mcp_connections for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on mcp_connections for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on mcp_connections for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on mcp_connections for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on mcp_connections to longhaul_sweeper using (true) with check (true);

create table mcp_authorizations (
  state_hash text not null,
  connection_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  verifier_enc bytea not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (state_hash)
);
create index mcp_authorizations_expires_idx on mcp_authorizations (expires_at);
alter table mcp_authorizations enable row level security, force row level security;
create policy app_select on mcp_authorizations for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on mcp_authorizations for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on mcp_authorizations for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on mcp_authorizations for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on mcp_authorizations to longhaul_sweeper using (true) with check (true);
