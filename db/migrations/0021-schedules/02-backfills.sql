-- Runs of past instants that somebody has asked for.

create table schedule_backfills (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  schedule_id uuid not null,
  range_from timestamptz(3) not null,
  range_to timestamptz(3) not null,
  overlap text not null,
  planned int not null,
  already_run int not null,
  status text not null default 'queued',
  reached timestamptz(3) not null,
  started int not null default 0,
  failed int not null default 0,
  created_at timestamptz(3) not null default now(),
  finished_at timestamptz(3),
  primary key (id),
  constraint schedule_backfills_overlap_check check (overlap in ('sequential', 'allow_all')),
  constraint schedule_backfills_status_check check (status in ('queued', 'running', 'done', 'cancelled'))
);
create index schedule_backfills_organization_idx on schedule_backfills (organization_id, id desc);
create index schedule_backfills_open_idx on schedule_backfills (schedule_id) where status in ('queued', 'running');
create index schedule_backfills_age_idx on schedule_backfills (created_at);
alter table schedule_backfills enable row level security, force row level security;
create policy app_select on schedule_backfills for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on schedule_backfills for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on schedule_backfills for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on schedule_backfills for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on schedule_backfills to longhaul_sweeper using (true) with check (true);

alter table schedule_backfills add constraint schedule_backfills_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table schedule_backfills add constraint schedule_backfills_schedule_organization_fkey foreign key (schedule_id, organization_id) references schedules(id, organization_id);

grant select, insert, update, delete on schedule_backfills to longhaul_app;
grant select, insert, update, delete on schedule_backfills to longhaul_sweeper;
