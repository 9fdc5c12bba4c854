-- Durable work on bases, what it found, and how it is planned.

create table knowledge_runs (
  id uuid not null,
  kb_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  kind text not null,
  tasks text[] not null default '{}',
  status text not null default 'queued',
  paused_reason text,
  paused_at timestamptz(3),
  dry_run boolean not null default false,
  source_id uuid,
  target_kb_id uuid,
  attachment_id uuid,
  params jsonb not null default '{}',
  progress jsonb not null default '{"stage":"queued","done":0,"total":null}',
  counts jsonb not null default '{}',
  cursor jsonb,
  cost_estimate numeric(20,9),
  cost_spent numeric(20,9) not null default '0',
  currency char(3) not null,
  error_count int not null default 0,
  result jsonb,
  cut_over_at timestamptz(3),
  requested_by jsonb not null,
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  primary key (id),
  constraint knowledge_runs_kind_check check (kind in ('ingest', 'reembed', 'import', 'export', 'maintenance', 'purge')),
  constraint knowledge_runs_status_check check (status in ('queued', 'running', 'paused', 'cancelling', 'succeeded', 'failed', 'cancelled'))
);
create index knowledge_runs_organization_idx on knowledge_runs (organization_id, id desc);
create index knowledge_runs_kb_idx on knowledge_runs (kb_id, id desc);
create unique index knowledge_runs_live_ingest_key on knowledge_runs (source_id) where kind = 'ingest' and status in ('queued', 'running', 'paused', 'cancelling');
create unique index knowledge_runs_live_reembed_key on knowledge_runs (kb_id) where kind = 'reembed' and status in ('queued', 'running', 'paused', 'cancelling');
create index knowledge_runs_target_idx on knowledge_runs (target_kb_id) where target_kb_id is not null;
create index knowledge_runs_live_idx on knowledge_runs (id) where status in ('queued', 'running', 'paused', 'cancelling');
alter table knowledge_runs enable row level security, force row level security;
create policy app_select on knowledge_runs for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on knowledge_runs for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on knowledge_runs for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on knowledge_runs for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on knowledge_runs to longhaul_sweeper using (true) with check (true);

create table knowledge_run_errors (
  run_id uuid not null,
  ord int not null,
  organization_id uuid,
  workspace_id uuid,
  stage text not null,
  ids jsonb not null default '{}',
  code text not null,
  detail text not null,
  created_at timestamptz(3) not null default now(),
  primary key (run_id, ord)
);
alter table knowledge_run_errors enable row level security, force row level security;
create policy app_select on knowledge_run_errors for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on knowledge_run_errors for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on knowledge_run_errors for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on knowledge_run_errors for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on knowledge_run_errors to longhaul_sweeper using (true) with check (true);

create table knowledge_findings (
  id uuid not null,
  kb_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  run_id uuid,
  kind text not null,
  fingerprint text not null,
  state text not null default 'open',
  item_ids uuid[] not null default '{}',
  score double precision,
  detail jsonb not null default '{}',
  resolution text,
  reason text,
  resolved_by jsonb,
  resolved_at timestamptz(3),
  undo jsonb,
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (id),
  constraint knowledge_findings_kind_check check (kind in ('duplicate', 'contradiction', 'stale', 'orphan', 'low_evidence', 'injection_suspect', 'integrity')),
  constraint knowledge_findings_state_check check (state in ('open', 'resolved', 'dismissed')),
  constraint knowledge_findings_resolution_check check (resolution in ('merge', 'supersede', 'keep_both', 'retire', 'dismiss'))
);
create index knowledge_findings_organization_idx on knowledge_findings (organization_id, id desc);
create unique index knowledge_findings_fingerprint_key on knowledge_findings (kb_id, kind, fingerprint);
create index knowledge_findings_state_idx on knowledge_findings (kb_id, state, id desc);
alter table knowledge_findings enable row level security, force row level security;
create policy app_select on knowledge_findings for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on knowledge_findings for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on knowledge_findings for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on knowledge_findings for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on knowledge_findings to longhaul_sweeper using (true) with check (true);

create table knowledge_policies (
  kb_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  schedule text,
  timezone text not null default 'UTC',
  tasks text[] not null default '{}',
  duplicate_threshold double precision not null default 0.95,
  auto_merge boolean not null default false,
  stale_after_days int not null default 180,
  retention_days int not null default 30,
  max_pause_hours int not null default 24,
  judge_model text,
  decay jsonb not null default '{"enabled":false,"half_life_days":90,"floor":0.5}',
  allow_missing_embeddings boolean not null default false,
  golden_queries jsonb not null default '[]',
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (kb_id)
);
alter table knowledge_policies enable row level security, force row level security;
create policy app_select on knowledge_policies for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on knowledge_policies for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on knowledge_policies for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on knowledge_policies for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on knowledge_policies to longhaul_sweeper using (true) with check (true);
