-- Budgets, their windows and what calls in flight hold.

create table budgets (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  period text not null,
  period_start date not null,
  limit_amount numeric(20,9),
  currency char(3) not null,
  is_enforced boolean not null default true,
  alert_threshold_pct int,
  alert_rule_id uuid,
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (id),
  constraint budgets_limit check (limit_amount >= 0),
  constraint budgets_period_check check (period in ('month', 'day'))
);
create index budgets_organization_idx on budgets (organization_id, id desc);
create unique index budgets_period_key on budgets (workspace_id, period);
alter table budgets enable row level security, force row level security;
create policy app_select on budgets for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on budgets for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on budgets for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on budgets for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on budgets to longhaul_sweeper using (true) with check (true);

create table budget_windows (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  budget_id uuid,
  budget_version int not null default 1,
  period text not null,
  cap_key text,
  window_start timestamptz(3) not null,
  window_end timestamptz(3),
  currency char(3) not null,
  fx_rate numeric(20,12) not null default 1,
  limit_amount numeric(20,9),
  is_enforced boolean not null default true,
  spent numeric(20,9) not null default 0,
  reserved numeric(20,9) not null default 0,
  closed_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint budget_windows_cap check ((period = 'cap') = (cap_key is not null) and (period = 'cap') = (budget_id is null) and (period = 'cap') = (window_end is null)),
  constraint budget_windows_reserved check (reserved >= 0),
  constraint budget_windows_period_check check (period in ('month', 'day', 'cap'))
);
create index budget_windows_organization_idx on budget_windows (organization_id, id desc);
create unique index budget_windows_budget_key on budget_windows (budget_id) where closed_at is null;
create unique index budget_windows_cap_key on budget_windows (cap_key) where closed_at is null;
create index budget_windows_open_idx on budget_windows (workspace_id) where closed_at is null and cap_key is null;
create index budget_windows_last_idx on budget_windows (budget_id, window_end desc) where budget_id is not null;
create index budget_windows_end_idx on budget_windows (window_end) where closed_at is null and window_end is not null;
alter table budget_windows enable row level security, force row level security;
create policy app_select on budget_windows for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on budget_windows for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on budget_windows for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on budget_windows for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on budget_windows to longhaul_sweeper using (true) with check (true);

create table budget_holds (
  call_key text not null,
  window_id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  amount numeric(20,9) not null,
  state text not null default 'held',
  lease_until timestamptz(3) not null,
  closed_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (call_key, window_id),
  constraint budget_holds_state_check check (state in ('held', 'settled', 'released', 'expired'))
);
create index budget_holds_window_idx on budget_holds (window_id);
create index budget_holds_lease_idx on budget_holds (lease_until) where state = 'held';
alter table budget_holds enable row level security, force row level security;
create policy app_select on budget_holds for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on budget_holds for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on budget_holds for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on budget_holds for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on budget_holds to longhaul_sweeper using (true) with check (true);
