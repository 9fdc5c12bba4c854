-- Evaluations: data sets of questions, the runs that answered them, and what evaluators said.

create table evaluation_runs (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  agent_id uuid not null,
  agent_revision_id uuid not null,
  dataset_name text,
  dataset_sha256 text not null,
  evaluators jsonb not null,
  settings jsonb not null,
  baseline_id uuid,
  status text not null default 'queued',
  summary jsonb not null,
  failure_code text,
  cancel_requested_at timestamptz(3),
  created_by_user_id uuid,
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  primary key (id),
  constraint evaluation_runs_tenant_key unique (id, organization_id),
  constraint evaluation_runs_status_check check (status in ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
  constraint evaluation_runs_finished_at check ((status in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null))
);
create index evaluation_runs_organization_idx on evaluation_runs (organization_id, id desc);
create index evaluation_runs_workspace_idx on evaluation_runs (workspace_id, id desc);
create index evaluation_runs_agent_idx on evaluation_runs (agent_id, id desc);
create index evaluation_runs_status_idx on evaluation_runs (workspace_id, status, id desc);
create index evaluation_runs_live_idx on evaluation_runs (id) where finished_at is null;
alter table evaluation_runs enable row level security, force row level security;
create policy app_select on evaluation_runs for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on evaluation_runs for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on evaluation_runs for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on evaluation_runs for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on evaluation_runs to longhaul_sweeper using (true) with check (true);

create table evaluation_items (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  evaluation_run_id uuid not null,
  item_key text not null,
  position int not null,
  content_sha256 text not null,
  input jsonb not null,
  expected jsonb,
  context jsonb,
  tools_expected jsonb,
  tags text[] not null default '{}',
  cluster text,
  evaluator_keys text[],
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint evaluation_items_tenant_key unique (id, organization_id)
);
create index evaluation_items_organization_idx on evaluation_items (organization_id, id desc);
create unique index evaluation_items_item_key on evaluation_items (evaluation_run_id, item_key);
create unique index evaluation_items_position_key on evaluation_items (evaluation_run_id, position);
alter table evaluation_items enable row level security, force row level security;
create policy app_select on evaluation_items for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on evaluation_items for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on evaluation_items for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on evaluation_items for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on evaluation_items to longhaul_sweeper using (true) with check (true);

create table evaluation_results (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  evaluation_run_id uuid not null,
  item_id uuid not null,
  repetition int not null,
  run_id uuid,
  status text not null default 'pending',
  score numeric(7, 6),
  reason text,
  latency_ms int,
  cost numeric(20, 9),
  tokens jsonb,
  turns int,
  attempts int not null default 0,
  votes jsonb not null default '{}',
  created_at timestamptz(3) not null default now(),
  finished_at timestamptz(3),
  primary key (id),
  constraint evaluation_results_tenant_key unique (id, organization_id),
  constraint evaluation_results_status_check check (status in ('pending', 'running', 'scoring', 'passed', 'failed', 'error', 'skipped')),
  constraint evaluation_results_finished_at check ((status in ('passed', 'failed', 'error', 'skipped')) = (finished_at is not null))
);
create index evaluation_results_organization_idx on evaluation_results (organization_id, id desc);
create unique index evaluation_results_repetition_key on evaluation_results (evaluation_run_id, item_id, repetition);
create index evaluation_results_status_idx on evaluation_results (evaluation_run_id, status, id);
create unique index evaluation_results_run_key on evaluation_results (run_id) where run_id is not null;
alter table evaluation_results enable row level security, force row level security;
create policy app_select on evaluation_results for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on evaluation_results for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on evaluation_results for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on evaluation_results for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on evaluation_results to longhaul_sweeper using (true) with check (true);

create table evaluation_scores (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  result_id uuid not null,
  evaluator_key text not null,
  state text not null,
  score numeric(7, 6),
  passed boolean,
  reason text,
  error_code text,
  details jsonb not null default '{}',
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint evaluation_scores_state_check check (state in ('done', 'error', 'skipped')),
  constraint evaluation_scores_range check (score >= 0 and score <= 1)
);
create index evaluation_scores_organization_idx on evaluation_scores (organization_id, id desc);
create unique index evaluation_scores_evaluator_key on evaluation_scores (result_id, evaluator_key);
alter table evaluation_scores enable row level security, force row level security;
create policy app_select on evaluation_scores for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on evaluation_scores for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on evaluation_scores for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on evaluation_scores for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on evaluation_scores to longhaul_sweeper using (true) with check (true);
