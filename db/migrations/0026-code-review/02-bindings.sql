-- Bound repositories, their pull requests, what came of them, and the ledger of findings.

create table repo_bindings (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  installation_id bigint not null,
  app_kind text not null,
  repo_id bigint not null,
  repo_full_name text not null,
  repo_key text not null,
  reviewer_agent_id uuid,
  editor_agent_id uuid,
  enabled_events text[] not null,
  review_config jsonb not null,
  editor_config jsonb not null,
  budget_config jsonb not null,
  workspace_config jsonb not null,
  is_active boolean not null default true,
  installation_state text not null default 'ok',
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (id),
  constraint repo_bindings_tenant_key unique (id, organization_id),
  constraint repo_bindings_app_kind_check check (app_kind in ('workspace', 'deployment')),
  constraint repo_bindings_installation_state_check check (installation_state in ('ok', 'suspended', 'removed'))
);
create index repo_bindings_organization_idx on repo_bindings (organization_id, id desc);
create index repo_bindings_workspace_idx on repo_bindings (workspace_id, id desc) where deleted_at is null;
create unique index repo_bindings_repo_key on repo_bindings (workspace_id, repo_key) where deleted_at is null;
create index repo_bindings_installation_idx on repo_bindings (installation_id, repo_id) where deleted_at is null;
create index repo_bindings_playbook_idx on repo_bindings ((review_config ->> 'playbook_id')) where deleted_at is null;
alter table repo_bindings enable row level security, force row level security;
create policy app_select on repo_bindings for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on repo_bindings for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on repo_bindings for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on repo_bindings for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on repo_bindings to longhaul_sweeper using (true) with check (true);

create table review_pull_requests (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  binding_id uuid not null,
  pull_number int not null,
  state text not null default 'open',
  is_draft boolean not null default false,
  is_fork boolean not null default false,
  paused boolean not null default false,
  is_block_dismissed boolean not null default false,
  heard_at timestamptz(3),
  base_ref text,
  head_sha text,
  last_base_ref text,
  last_head_sha text,
  last_merge_base_sha text,
  last_playbook_revision_id uuid,
  summary_review_id bigint,
  summary_sha256 text,
  round int not null default 0,
  editor_rounds int not null default 0,
  spent numeric(20, 9) not null default 0,
  due_at timestamptz(3),
  due_since timestamptz(3),
  is_due_full boolean not null default false,
  closed_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (id),
  constraint review_pull_requests_tenant_key unique (id, organization_id),
  constraint review_pull_requests_state_check check (state in ('open', 'closed')),
  constraint review_pull_requests_closed_at check ((state = 'closed') = (closed_at is not null))
);
create index review_pull_requests_organization_idx on review_pull_requests (organization_id, id desc);
create unique index review_pull_requests_number_key on review_pull_requests (binding_id, pull_number);
create index review_pull_requests_head_idx on review_pull_requests (binding_id, head_sha);
create index review_pull_requests_due_idx on review_pull_requests (due_at) where due_at is not null;
alter table review_pull_requests enable row level security, force row level security;
create policy app_select on review_pull_requests for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on review_pull_requests for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on review_pull_requests for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on review_pull_requests for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on review_pull_requests to longhaul_sweeper using (true) with check (true);

create table review_files (
  pull_request_id uuid not null,
  path text not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  hunk_hashes text[] not null,
  created_at timestamptz(3) not null default now(),
  primary key (pull_request_id, path)
);
alter table review_files enable row level security, force row level security;
create policy app_select on review_files for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on review_files for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on review_files for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on review_files for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on review_files to longhaul_sweeper using (true) with check (true);

create table review_events (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  binding_id uuid not null,
  pull_number int,
  delivery_guid text not null,
  event text not null,
  action text,
  facts jsonb not null default '{}',
  state text not null default 'queued',
  reason text,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint review_events_state_check check (state in ('queued', 'applied', 'ignored'))
);
create index review_events_organization_idx on review_events (organization_id, id desc);
create unique index review_events_delivery_key on review_events (binding_id, delivery_guid);
create index review_events_queued_idx on review_events (binding_id, pull_number, id) where state = 'queued';
create index review_events_age_idx on review_events (created_at);
alter table review_events enable row level security, force row level security;
create policy app_select on review_events for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on review_events for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on review_events for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on review_events for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on review_events to longhaul_sweeper using (true) with check (true);

create table review_commands (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  pull_request_id uuid not null,
  comment_id bigint not null,
  comment_kind text not null,
  command text not null,
  argument text,
  text_sha256 text not null,
  sender text not null,
  in_reply_to bigint,
  state text not null default 'queued',
  reason text,
  reply text,
  run_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (id),
  constraint review_commands_tenant_key unique (id, organization_id),
  constraint review_commands_comment_kind_check check (comment_kind in ('issue', 'review')),
  constraint review_commands_state_check check (state in ('queued', 'accepted', 'done', 'refused', 'cancelled'))
);
create index review_commands_organization_idx on review_commands (organization_id, id desc);
create unique index review_commands_text_key on review_commands (pull_request_id, comment_id, text_sha256);
create index review_commands_open_idx on review_commands (pull_request_id, id) where state in ('queued', 'accepted');
create index review_commands_run_idx on review_commands (run_id) where run_id is not null;
alter table review_commands enable row level security, force row level security;
create policy app_select on review_commands for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on review_commands for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on review_commands for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on review_commands for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on review_commands to longhaul_sweeper using (true) with check (true);

create table review_findings (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  pull_request_id uuid not null,
  fingerprint text not null,
  rule_id text,
  category text not null,
  severity text not null,
  confidence numeric(7, 6) not null,
  path text not null,
  side text not null,
  start_line int not null,
  end_line int not null,
  title text not null,
  scenario text not null,
  evidence text not null,
  suggestion text,
  state text not null default 'open',
  placement text not null,
  comment_id bigint,
  thread_id text,
  also_at jsonb not null default '[]',
  first_run_id uuid not null,
  first_head_sha text not null,
  last_head_sha text not null,
  reactions_up int not null default 0,
  reactions_down int not null default 0,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (id),
  constraint review_findings_severity_check check (severity in ('critical', 'high', 'medium', 'low', 'nit')),
  constraint review_findings_side_check check (side in ('LEFT', 'RIGHT')),
  constraint review_findings_state_check check (state in ('open', 'fixed', 'outdated', 'dismissed')),
  constraint review_findings_placement_check check (placement in ('inline', 'file', 'summary', 'none'))
);
create index review_findings_organization_idx on review_findings (organization_id, id desc);
create unique index review_findings_fingerprint_key on review_findings (pull_request_id, fingerprint);
create index review_findings_run_idx on review_findings (first_run_id);
create index review_findings_comment_idx on review_findings (pull_request_id, comment_id) where comment_id is not null;
alter table review_findings enable row level security, force row level security;
create policy app_select on review_findings for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on review_findings for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on review_findings for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on review_findings for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on review_findings to longhaul_sweeper using (true) with check (true);

create table review_posts (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  owner_id uuid not null,
  kind text not null,
  ordinal int not null,
  state text not null default 'sending',
  github_id text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (id),
  constraint review_posts_kind_check check (kind in ('review', 'summary', 'check', 'reply', 'reaction', 'push')),
  constraint review_posts_state_check check (state in ('sending', 'posted'))
);
create index review_posts_organization_idx on review_posts (organization_id, id desc);
create unique index review_posts_ordinal_key on review_posts (owner_id, kind, ordinal);
alter table review_posts enable row level security, force row level security;
create policy app_select on review_posts for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on review_posts for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on review_posts for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on review_posts for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on review_posts to longhaul_sweeper using (true) with check (true);

create table review_answers (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  run_id uuid not null,
  stage text not null,
  ordinal int not null,
  answer jsonb not null,
  created_at timestamptz(3) not null default now(),
  primary key (id)
);
create index review_answers_organization_idx on review_answers (organization_id, id desc);
create unique index review_answers_ordinal_key on review_answers (run_id, stage, ordinal);
alter table review_answers enable row level security, force row level security;
create policy app_select on review_answers for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on review_answers for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on review_answers for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on review_answers for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on review_answers to longhaul_sweeper using (true) with check (true);

-- A review is a run of source code_review.
alter table runs add column review_pull_request_id uuid;
alter table runs add column review_round int;
alter table runs add column review_head_sha text;
alter table runs add column playbook_revision_id uuid;
alter table runs add column review jsonb;
create unique index runs_review_round_key on runs (review_pull_request_id, review_round) where review_pull_request_id is not null;
