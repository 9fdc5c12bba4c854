-- What joins runs after their start, and cancels of many.

create table run_inputs (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  run_id uuid not null,
  conversation_id uuid not null,
  content jsonb not null,
  read_at_step int,
  created_at timestamptz(3) not null default now(),
  primary key (id)
);
create index run_inputs_organization_idx on run_inputs (organization_id, id desc);
create index run_inputs_run_idx on run_inputs (run_id);
create index run_inputs_unread_idx on run_inputs (conversation_id) where read_at_step is null;
alter table run_inputs enable row level security, force row level security;
create policy app_select on run_inputs for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on run_inputs for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on run_inputs for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on run_inputs for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on run_inputs to longhaul_sweeper using (true) with check (true);

create table bulk_cancels (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  filter jsonb not null,
  policy text not null,
  reason text,
  cancelled int not null default 0,
  finished_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint bulk_cancels_policy_check check (policy in ('interrupt', 'rollback'))
);
create index bulk_cancels_organization_idx on bulk_cancels (organization_id, id desc);
alter table bulk_cancels enable row level security, force row level security;
create policy app_select on bulk_cancels for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on bulk_cancels for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on bulk_cancels for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on bulk_cancels for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on bulk_cancels to longhaul_sweeper using (true) with check (true);
