-- Alert rules and where each of their groups stands.

create table alert_rules (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid,
  budget_id uuid,
  agent_id uuid,
  name text not null,
  kind text not null,
  group_by text not null default 'none',
  operator text not null,
  threshold numeric(20,9) not null,
  warning_threshold numeric(20,9),
  window_s int not null default 300,
  for_s int not null default 0,
  keep_firing_s int not null default 0,
  repeat_interval_s int not null default 14400,
  no_data_mode text not null default 'ok',
  targets jsonb not null default '[]',
  is_active boolean not null default true,
  last_evaluated_at timestamptz(3),
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (id),
  constraint alert_rules_tenant_key unique (id, organization_id),
  constraint alert_rules_managed check ((kind = 'budget') = (budget_id is not null)),
  constraint alert_rules_threshold check (threshold >= 0 and warning_threshold >= 0),
  constraint alert_rules_kind_check check (kind in ('spend', 'run_failures', 'run_failure_pct', 'run_duration_p95', 'runs_waiting', 'delivery_failures', 'schedule_missed', 'unpriced_usage', 'budget')),
  constraint alert_rules_group_by_check check (group_by in ('none', 'workspace', 'agent')),
  constraint alert_rules_operator_check check (operator in ('gt', 'gte', 'lt', 'lte')),
  constraint alert_rules_no_data_mode_check check (no_data_mode in ('ok', 'keep', 'alert'))
);
create index alert_rules_organization_idx on alert_rules (organization_id, id desc);
create unique index alert_rules_budget_key on alert_rules (budget_id) where budget_id is not null and deleted_at is null;
create index alert_rules_active_idx on alert_rules (is_active, id) where deleted_at is null and budget_id is null;
alter table alert_rules enable row level security, force row level security;
create policy app_select on alert_rules for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on alert_rules for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on alert_rules for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on alert_rules for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on alert_rules to longhaul_sweeper using (true) with check (true);

create table alert_states (
  rule_id uuid not null,
  fingerprint text not null,
  organization_id uuid not null,
  workspace_id uuid,
  state text not null default 'unknown',
  level text,
  since timestamptz(3) not null,
  fine_since timestamptz(3),
  none_since timestamptz(3),
  last_tick timestamptz(3) not null,
  last_emit_at timestamptz(3),
  quiet_until timestamptz(3),
  alert_id uuid,
  created_at timestamptz(3) not null default now(),
  primary key (rule_id, fingerprint),
  constraint alert_states_state_check check (state in ('unknown', 'ok', 'pending', 'firing', 'no_data')),
  constraint alert_states_level_check check (level in ('warning', 'critical'))
);
create index alert_states_organization_idx on alert_states (organization_id);
alter table alert_states enable row level security, force row level security;
create policy app_select on alert_states for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on alert_states for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on alert_states for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on alert_states for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on alert_states to longhaul_sweeper using (true) with check (true);
