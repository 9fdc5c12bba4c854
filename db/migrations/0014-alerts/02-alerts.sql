-- Alerts, their changes and their notices.

create table alerts (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid,
  rule_id uuid not null,
  fingerprint text not null,
  window_key text not null,
  labels jsonb not null default '{}',
  status text not null,
  severity text not null,
  title text not null,
  value numeric(30,9),
  threshold numeric(20,9),
  opened_at timestamptz(3) not null,
  last_seen_at timestamptz(3) not null,
  acknowledged_at timestamptz(3),
  acknowledged_by_user_id uuid,
  snoozed_until timestamptz(3),
  resolved_at timestamptz(3),
  resolved_by_user_id uuid,
  resolution text,
  next_seq int not null default 1,
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (id),
  constraint alerts_tenant_key unique (id, organization_id),
  constraint alerts_resolved check ((status = 'resolved') = (resolved_at is not null)),
  constraint alerts_status_check check (status in ('firing', 'no_data', 'resolved')),
  constraint alerts_severity_check check (severity in ('warning', 'critical')),
  constraint alerts_resolution_check check (resolution in ('recovered', 'manual', 'window_ended', 'budget_changed', 'rule_changed'))
);
create index alerts_organization_idx on alerts (organization_id, id desc);
create unique index alerts_window_key on alerts (rule_id, fingerprint, window_key);
create index alerts_open_idx on alerts (rule_id) where resolved_at is null;
create index alerts_resolved_idx on alerts (resolved_at) where resolved_at is not null;
alter table alerts enable row level security, force row level security;
create policy app_select on alerts for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on alerts for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on alerts for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on alerts for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on alerts to longhaul_sweeper using (true) with check (true);

create table alert_transitions (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid,
  alert_id uuid not null,
  at timestamptz(3) not null,
  from_status text not null,
  to_status text not null,
  severity text not null,
  value numeric(30,9),
  by_user_id uuid,
  primary key (id),
  constraint alert_transitions_from_status_check check (from_status in ('ok', 'firing', 'no_data', 'resolved')),
  constraint alert_transitions_to_status_check check (to_status in ('firing', 'no_data', 'resolved')),
  constraint alert_transitions_severity_check check (severity in ('warning', 'critical'))
);
create index alert_transitions_organization_idx on alert_transitions (organization_id, id desc);
create index alert_transitions_alert_idx on alert_transitions (alert_id, at);
alter table alert_transitions enable row level security, force row level security;
create policy app_select on alert_transitions for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on alert_transitions for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on alert_transitions for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on alert_transitions for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on alert_transitions to longhaul_sweeper using (true) with check (true);

create table alert_deliveries (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid,
  rule_id uuid not null,
  alert_id uuid,
  seq int not null,
  event text not null,
  target_key text not null,
  target jsonb not null,
  snapshot jsonb not null,
  status text not null default 'queued',
  attempts int not null default 0,
  last_status int,
  last_error text,
  latency_ms int,
  next_attempt_at timestamptz(3),
  sent_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (id),
  constraint alert_deliveries_event_check check (event in ('firing', 'escalated', 'repeated', 'resolved', 'test')),
  constraint alert_deliveries_status_check check (status in ('queued', 'sent', 'failed', 'dead'))
);
create index alert_deliveries_organization_idx on alert_deliveries (organization_id, id desc);
create unique index alert_deliveries_target_key on alert_deliveries (alert_id, seq, target_key);
create index alert_deliveries_rule_idx on alert_deliveries (rule_id);
create index alert_deliveries_dead_idx on alert_deliveries (organization_id, updated_at) where status = 'dead';
create index alert_deliveries_age_idx on alert_deliveries (created_at);
create index alert_deliveries_open_idx on alert_deliveries (id) where status in ('queued', 'failed');
alter table alert_deliveries enable row level security, force row level security;
create policy app_select on alert_deliveries for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on alert_deliveries for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on alert_deliveries for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on alert_deliveries for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on alert_deliveries to longhaul_sweeper using (true) with check (true);
