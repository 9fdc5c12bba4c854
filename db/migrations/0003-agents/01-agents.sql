-- Personas.

create table personas (
  id uuid not null,
  agent_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  slug text not null,
  is_default boolean not null default false,
  is_active boolean not null default true,
  version int not null default 1,
  document jsonb not null,
  row_version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (id),
  constraint personas_tenant_key unique (id, organization_id)
);
create index personas_organization_idx on personas (organization_id, id desc);
create unique index personas_slug_key on personas (agent_id, slug) where deleted_at is null;
create unique index personas_default_key on personas (agent_id) where is_default and deleted_at is null;
alter table personas enable row level security, force row level security;
create policy app_select on personas for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on personas for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on personas for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on personas for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on personas to longhaul_sweeper using (true) with check (true);

create table persona_versions (
  id uuid not null,
  persona_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  version int not null,
  document jsonb not null,
  created_by jsonb not null,
  created_at timestamptz(3) not null default now(),
  primary key (id)
);
create unique index persona_versions_version_key on persona_versions (persona_id, version);
alter table persona_versions enable row level security, force row level security;
create policy app_select on persona_versions for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on persona_versions for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on persona_versions for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on persona_versions for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on persona_versions to longhaul_sweeper using (true) with check (true);
