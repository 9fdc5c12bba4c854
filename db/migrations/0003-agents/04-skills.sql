-- Skills, their versions and uses.

create table skills (
  id uuid not null,
  scope text not null,
  organization_id uuid,
  workspace_id uuid,
  owner_agent_id uuid,
  owner_user_id uuid,
  slug text not null,
  description text not null,
  instructions text not null,
  reference_docs jsonb not null default '[]',
  front_matter jsonb,
  content_hash text not null,
  version int not null default 1,
  promoted_version int,
  promoted_versions jsonb not null default '[]',
  superseded_by uuid,
  curation_state text not null default 'pending',
  origin text not null,
  use_count int not null default 0,
  last_used_at timestamptz(3),
  is_active boolean not null default true,
  created_by jsonb not null,
  row_version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (id),
  constraint skills_tenant_key unique (id, organization_id),
  constraint skills_scope_columns check ((scope = 'platform' and organization_id is null and workspace_id is null) or (scope = 'organization' and organization_id is not null and workspace_id is null) or (scope = 'workspace' and organization_id is not null and workspace_id is not null)),
  constraint skills_scope_check check (scope in ('workspace', 'organization', 'platform')),
  constraint skills_curation_state_check check (curation_state in ('pending', 'reviewed', 'promoted', 'superseded', 'retired')),
  constraint skills_origin_check check (origin in ('human', 'agent', 'import', 'derived'))
);
create index skills_organization_idx on skills (organization_id, id desc);
create index skills_platform_idx on skills (id desc) where scope = 'platform';
create unique index skills_slug_workspace_key on skills (workspace_id, slug) where scope = 'workspace' and deleted_at is null;
create unique index skills_slug_organization_key on skills (organization_id, slug) where scope = 'organization' and deleted_at is null;
create unique index skills_slug_platform_key on skills (slug) where scope = 'platform' and deleted_at is null;
create index skills_owner_agent_idx on skills (owner_agent_id, id desc) where owner_agent_id is not null;
alter table skills enable row level security, force row level security;
create policy app_select on skills for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or (scope = 'platform' and is_active));
create policy app_insert on skills for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on skills for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on skills for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on skills to longhaul_sweeper using (true) with check (true);

create table skill_versions (
  id uuid not null,
  skill_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  version int not null,
  description text not null,
  instructions text not null,
  reference_docs jsonb not null default '[]',
  front_matter jsonb,
  content_hash text not null,
  origin text not null,
  created_by jsonb not null,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint skill_versions_origin_check check (origin in ('human', 'agent', 'import', 'derived'))
);
create unique index skill_versions_version_key on skill_versions (skill_id, version);
alter table skill_versions enable row level security, force row level security;
create policy app_select on skill_versions for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on skill_versions for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on skill_versions for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on skill_versions for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on skill_versions to longhaul_sweeper using (true) with check (true);

create table skill_uses (
  run_id uuid not null,
  skill_id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  version int not null,
  created_at timestamptz(3) not null default now(),
  primary key (run_id, skill_id)
);
create index skill_uses_skill_idx on skill_uses (skill_id);
alter table skill_uses enable row level security, force row level security;
create policy app_select on skill_uses for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on skill_uses for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on skill_uses for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on skill_uses for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on skill_uses to longhaul_sweeper using (true) with check (true);
