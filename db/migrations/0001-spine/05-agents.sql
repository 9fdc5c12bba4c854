-- Agents and tools.

create table agents (
  id uuid not null,
  scope text not null,
  organization_id uuid,
  workspace_id uuid,
  slug text not null,
  name text not null,
  description text,
  avatar_preset text,
  image_url text,
  is_active boolean not null default true,
  attributes jsonb not null default '{}',
  active_revision_id uuid,
  created_by_user_id uuid,
  row_version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (id),
  constraint agents_tenant_key unique (id, organization_id),
  constraint agents_scope_columns check ((scope = 'platform' and organization_id is null and workspace_id is null) or (scope = 'organization' and organization_id is not null and workspace_id is null) or (scope = 'workspace' and organization_id is not null and workspace_id is not null)),
  constraint agents_scope_check check (scope in ('workspace', 'organization', 'platform')),
  constraint agents_avatar_preset_check check (avatar_preset in ('analyst', 'archivist', 'builder', 'courier', 'gardener', 'navigator', 'scribe', 'sentinel'))
);
create index agents_organization_idx on agents (organization_id, id desc);
create index agents_platform_idx on agents (id desc) where scope = 'platform';
create unique index agents_slug_workspace_key on agents (workspace_id, slug) where scope = 'workspace' and deleted_at is null;
create unique index agents_slug_organization_key on agents (organization_id, slug) where scope = 'organization' and deleted_at is null;
create unique index agents_slug_platform_key on agents (slug) where scope = 'platform' and deleted_at is null;
alter table agents enable row level security, force row level security;
create policy app_select on agents for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or (scope = 'platform' and is_active));
create policy app_insert on agents for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on agents for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on agents for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on agents to longhaul_sweeper using (true) with check (true);

create table agent_revisions (
  id uuid not null,
  agent_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  number int not null,
  document jsonb not null,
  document_hash text not null,
  note text,
  created_by jsonb not null,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint agent_revisions_agent_key unique (id, agent_id)
);
create index agent_revisions_organization_idx on agent_revisions (organization_id, id desc);
create unique index agent_revisions_number_key on agent_revisions (agent_id, number);
alter table agent_revisions enable row level security, force row level security;
create policy app_select on agent_revisions for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on agent_revisions for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on agent_revisions for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on agent_revisions for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on agent_revisions to longhaul_sweeper using (true) with check (true);

create table agent_refs (
  id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  revision_id uuid,
  persona_id uuid,
  kind text not null,
  target_id uuid not null,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint agent_refs_one_owner check ((revision_id is null) <> (persona_id is null)),
  constraint agent_refs_kind_check check (kind in ('tool', 'toolkit', 'skill', 'sub_agent', 'knowledge'))
);
create index agent_refs_target_idx on agent_refs (kind, target_id);
create unique index agent_refs_reference_key on agent_refs (revision_id, persona_id, kind, target_id) nulls not distinct;
alter table agent_refs enable row level security, force row level security;
create policy app_select on agent_refs for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on agent_refs for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on agent_refs for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on agent_refs for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on agent_refs to longhaul_sweeper using (true) with check (true);

create table tools (
  id uuid not null,
  scope text not null,
  organization_id uuid,
  workspace_id uuid,
  slug text not null,
  kind text not null,
  display_name text,
  description text not null,
  input_schema jsonb not null,
  config jsonb not null default '{}',
  secrets_required text[] not null default '{}',
  concurrency text not null,
  effect text not null,
  critical boolean not null default false,
  client_owned boolean not null default false,
  response_max_chars int not null default 20000,
  timeout_s int not null default 60,
  is_active boolean not null default true,
  toolkit_id uuid,
  remote_name text,
  quarantined_at timestamptz(3),
  row_version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (id),
  constraint tools_tenant_key unique (id, organization_id),
  constraint tools_scope_columns check ((scope = 'platform' and organization_id is null and workspace_id is null) or (scope = 'organization' and organization_id is not null and workspace_id is null) or (scope = 'workspace' and organization_id is not null and workspace_id is not null)),
  constraint tools_timeout_bounds check (timeout_s >= 1 and timeout_s <= 86400),
  constraint tools_response_bounds check (response_max_chars >= 100 and response_max_chars <= 200000),
  constraint tools_scope_check check (scope in ('workspace', 'organization', 'platform')),
  constraint tools_kind_check check (kind in ('http', 'remote_protocol', 'builtin', 'code_exec', 'web_search', 'web_fetch', 'delegate', 'schedule')),
  constraint tools_concurrency_check check (concurrency in ('read', 'write', 'exclusive')),
  constraint tools_effect_check check (effect in ('read', 'write'))
);
create index tools_organization_idx on tools (organization_id, id desc);
create index tools_platform_idx on tools (id desc) where scope = 'platform';
create unique index tools_slug_workspace_key on tools (workspace_id, slug) where scope = 'workspace' and deleted_at is null;
create unique index tools_slug_organization_key on tools (organization_id, slug) where scope = 'organization' and deleted_at is null;
create unique index tools_slug_platform_key on tools (slug) where scope = 'platform' and deleted_at is null;
create unique index tools_remote_name_key on tools (toolkit_id, remote_name) where toolkit_id is not null;
alter table tools enable row level security, force row level security;
create policy app_select on tools for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or (scope = 'platform' and is_active));
create policy app_insert on tools for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on tools for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on tools for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on tools to longhaul_sweeper using (true) with check (true);

create table tool_versions (
  id uuid not null,
  tool_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  version int not null,
  descriptor jsonb not null,
  created_at timestamptz(3) not null default now(),
  primary key (id)
);
create unique index tool_versions_version_key on tool_versions (tool_id, version);
alter table tool_versions enable row level security, force row level security;
create policy app_select on tool_versions for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on tool_versions for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on tool_versions for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on tool_versions for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on tool_versions to longhaul_sweeper using (true) with check (true);
