-- Schedules and their occurrences.

create table schedules (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  agent_id uuid not null,
  name text not null,
  description text not null,
  cron text,
  every_seconds int,
  run_at timestamptz(3),
  timezone text not null default 'UTC',
  dst jsonb not null,
  prompt_template text not null,
  input_template jsonb,
  session_key_template text,
  persona_slug_template text,
  subject_template jsonb,
  overlap text not null default 'skip',
  catch_up_seconds int not null default 600,
  jitter_seconds int not null default 0,
  starts_at timestamptz(3),
  ends_at timestamptz(3),
  pause_after_failures int not null default 0,
  is_active boolean not null default true,
  pause_reason text,
  next_run_at timestamptz(3),
  last_occurrence_at timestamptz(3),
  sync_state text not null default 'pending',
  compiled jsonb not null,
  evaluated_until timestamptz(3) not null,
  synced_version int not null default 0,
  failure_streak int not null default 0,
  created_by_user_id uuid,
  tool_call_id uuid,
  tool_id uuid,
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (id),
  constraint schedules_tenant_key unique (id, organization_id),
  constraint schedules_one_cadence check (num_nonnulls(cron, every_seconds, run_at) = 1),
  constraint schedules_overlap_check check (overlap in ('skip', 'buffer_one', 'cancel_other', 'allow_all')),
  constraint schedules_sync_state_check check (sync_state in ('synced', 'pending', 'error'))
);
create index schedules_organization_idx on schedules (organization_id, id desc);
create index schedules_workspace_idx on schedules (workspace_id, id desc);
create index schedules_agent_idx on schedules (agent_id);
create unique index schedules_tool_call_key on schedules (tool_call_id) where tool_call_id is not null;
alter table schedules enable row level security, force row level security;
create policy app_select on schedules for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on schedules for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on schedules for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on schedules for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on schedules to longhaul_sweeper using (true) with check (true);

create table schedule_occurrences (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  schedule_id uuid not null,
  kind text not null,
  nominal_at timestamptz(3) not null,
  local_time text not null,
  shifted_from text,
  status text not null,
  overlap text not null,
  run_id uuid,
  backfill_id uuid,
  reason text,
  rendered jsonb,
  started_at timestamptz(3),
  finished_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint schedule_occurrences_kind_check check (kind in ('regular', 'manual', 'backfill')),
  constraint schedule_occurrences_status_check check (status in ('started', 'buffered', 'skipped_overlap', 'skipped_dst', 'missed', 'failed', 'cancelled', 'succeeded'))
);
create index schedule_occurrences_organization_idx on schedule_occurrences (organization_id, id desc);
create unique index schedule_occurrences_instant_key on schedule_occurrences (schedule_id, kind, nominal_at);
create index schedule_occurrences_open_idx on schedule_occurrences (schedule_id) where status in ('buffered', 'started');
create index schedule_occurrences_run_idx on schedule_occurrences (run_id) where run_id is not null;
alter table schedule_occurrences enable row level security, force row level security;
create policy app_select on schedule_occurrences for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on schedule_occurrences for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on schedule_occurrences for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on schedule_occurrences for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on schedule_occurrences to longhaul_sweeper using (true) with check (true);
