-- Trials and leases of tools.

create table tool_tests (
  id uuid not null,
  tool_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  arguments jsonb not null,
  dry_run boolean not null default false,
  created_by jsonb not null,
  claimed_at timestamptz(3),
  result jsonb,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  primary key (id)
);
create index tool_tests_expires_idx on tool_tests (expires_at);
alter table tool_tests enable row level security, force row level security;
create policy app_select on tool_tests for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on tool_tests for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on tool_tests for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on tool_tests for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on tool_tests to longhaul_sweeper using (true) with check (true);

create table tool_leases (
  workspace_id uuid not null,
  tool_id uuid not null,
  organization_id uuid not null,
  call_id uuid not null,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  primary key (workspace_id, tool_id)
);
alter table tool_leases enable row level security, force row level security;
create policy app_select on tool_leases for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on tool_leases for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on tool_leases for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on tool_leases for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on tool_leases to longhaul_sweeper using (true) with check (true);
