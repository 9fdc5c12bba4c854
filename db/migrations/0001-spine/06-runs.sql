-- Conversations, runs, messages, steps, calls.

create table conversations (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  agent_id uuid not null,
  subject_kind text,
  subject_id text,
  session_key text,
  persona_slug text,
  active_run_id uuid,
  queue_length int not null default 0,
  next_queue_no int not null default 1,
  turn_no int not null default 0,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint conversations_tenant_key unique (id, organization_id),
  constraint conversations_queue_bounds check (queue_length >= 0 and queue_length <= 20),
  constraint conversations_subject_kind_check check (subject_kind in ('user', 'guest'))
);
create index conversations_organization_idx on conversations (organization_id, id desc);
create unique index conversations_session_key on conversations (workspace_id, agent_id, subject_kind, subject_id, session_key) nulls not distinct where session_key is not null;
create index conversations_stuck_idx on conversations (id) where active_run_id is null and queue_length > 0;
alter table conversations enable row level security, force row level security;
create policy app_select on conversations for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on conversations for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on conversations for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on conversations for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on conversations to longhaul_sweeper using (true) with check (true);

create table runs (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  agent_id uuid not null,
  agent_revision_id uuid not null,
  conversation_id uuid not null,
  root_run_id uuid not null,
  parent_run_id uuid,
  parent_tool_call_id uuid,
  retry_of_run_id uuid,
  forked_at_message_id uuid,
  trigger_id uuid,
  evaluation_run_id uuid,
  binding_id uuid,
  root_event_id uuid,
  event_depth int not null default 0,
  agent_slug text not null,
  persona_slug text,
  session_key text,
  source text not null,
  subject_kind text,
  subject_id text,
  created_by_kind text not null,
  created_by_id uuid,
  created_by_acting_user_id uuid,
  status text not null default 'queued',
  waiting_on text,
  waiting_until timestamptz(3),
  finish_reason text,
  turn_no int,
  queue_no int,
  input jsonb not null,
  output jsonb,
  error jsonb,
  warnings jsonb not null default '[]',
  limits jsonb not null,
  usage_own jsonb not null,
  usage_subtree jsonb not null,
  steps int not null default 0,
  depth int not null default 0,
  pending_approvals int not null default 0,
  on_busy text not null default 'enqueue',
  cancel_policy text,
  metadata jsonb not null default '{}',
  manifest jsonb,
  untrusted boolean not null default false,
  max_effect text not null default 'write',
  active_ms bigint not null default '0',
  hard_deadline_at timestamptz(3),
  reconciled_at timestamptz(3),
  activated_at timestamptz(3),
  start_after timestamptz(3),
  started_at timestamptz(3),
  cancel_requested_at timestamptz(3),
  finished_at timestamptz(3),
  deleted_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (id),
  constraint runs_tenant_key unique (id, organization_id),
  constraint runs_finished_at check ((status in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null)),
  constraint runs_waiting_on check ((status = 'waiting') = (waiting_on is not null)),
  constraint runs_waiting_until check ((status = 'waiting') = (waiting_until is not null)),
  constraint runs_stop_is_success check ((status = 'succeeded') = (finish_reason is not distinct from 'stop')),
  constraint runs_source_check check (source in ('api', 'webhook', 'schedule', 'event', 'channel', 'code_review', 'evaluation', 'sub_agent', 'mcp')),
  constraint runs_subject_kind_check check (subject_kind in ('user', 'guest')),
  constraint runs_created_by_kind_check check (created_by_kind in ('user', 'service_key', 'system')),
  constraint runs_status_check check (status in ('queued', 'running', 'waiting', 'cancelling', 'succeeded', 'failed', 'cancelled')),
  constraint runs_waiting_on_check check (waiting_on in ('approval', 'input', 'client_tool', 'auth', 'budget', 'timer')),
  constraint runs_finish_reason_check check (finish_reason in ('stop', 'max_steps', 'max_output', 'timeout', 'budget_exceeded', 'cancelled', 'superseded', 'approval_expired', 'refused', 'error')),
  constraint runs_on_busy_check check (on_busy in ('enqueue', 'reject', 'interrupt', 'rollback', 'steer')),
  constraint runs_cancel_policy_check check (cancel_policy in ('interrupt', 'rollback')),
  constraint runs_max_effect_check check (max_effect in ('read', 'write'))
);
create index runs_organization_idx on runs (organization_id, id desc);
create index runs_workspace_idx on runs (workspace_id, id desc);
create index runs_agent_idx on runs (agent_id, id desc);
create index runs_conversation_idx on runs (conversation_id, id desc);
create index runs_trigger_idx on runs (trigger_id, id desc) where trigger_id is not null;
create index runs_evaluation_run_idx on runs (evaluation_run_id, id desc) where evaluation_run_id is not null;
create index runs_binding_idx on runs (binding_id, id desc) where binding_id is not null;
create index runs_parent_run_idx on runs (parent_run_id, id desc) where parent_run_id is not null;
create index runs_root_idx on runs (root_run_id);
create index runs_live_idx on runs (workspace_id, status) where status in ('queued', 'running', 'waiting', 'cancelling');
create index runs_line_idx on runs (conversation_id, queue_no) where status = 'queued';
alter table runs enable row level security, force row level security;
create policy app_select on runs for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on runs for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on runs for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on runs for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on runs to longhaul_sweeper using (true) with check (true);

create table messages (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  conversation_id uuid not null,
  run_id uuid not null,
  turn int not null,
  pos int not null,
  step int,
  role text not null,
  origin text not null,
  content jsonb not null,
  tool_call_ids uuid[] not null default '{}',
  tool_call_id uuid,
  model text,
  stop_reason text,
  state text not null,
  provider_state jsonb,
  attempt int not null default 1,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint messages_role_check check (role in ('user', 'assistant', 'tool', 'system')),
  constraint messages_origin_check check (origin in ('user', 'model', 'system', 'injected')),
  constraint messages_stop_reason_check check (stop_reason in ('stop', 'tool_calls', 'max_output', 'refused', 'cancelled', 'error')),
  constraint messages_state_check check (state in ('pending', 'committed', 'discarded'))
);
create unique index messages_position_key on messages (run_id, pos);
create index messages_history_idx on messages (conversation_id, turn, pos) where state = 'committed';
alter table messages enable row level security, force row level security;
create policy app_select on messages for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on messages for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on messages for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on messages for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on messages to longhaul_sweeper using (true) with check (true);

create table run_steps (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  run_id uuid not null,
  step int not null,
  kind text not null,
  name text not null,
  status text not null default 'running',
  attempt int not null default 1,
  message_id uuid,
  tool_call_id uuid,
  child_run_id uuid,
  args jsonb,
  output_preview text,
  error jsonb,
  retries jsonb not null default '[]',
  usage jsonb,
  started_at timestamptz(3) not null default now(),
  first_token_at timestamptz(3),
  finished_at timestamptz(3),
  duration_ms int,
  trace_id text,
  span_id text,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint run_steps_kind_check check (kind in ('model', 'tool', 'sub_agent', 'system')),
  constraint run_steps_status_check check (status in ('running', 'succeeded', 'failed', 'denied', 'timed_out', 'cancelled'))
);
create unique index run_steps_call_key on run_steps (run_id, step, tool_call_id) nulls not distinct;
alter table run_steps enable row level security, force row level security;
create policy app_select on run_steps for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on run_steps for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on run_steps for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on run_steps for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on run_steps to longhaul_sweeper using (true) with check (true);

create table tool_calls (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  run_id uuid not null,
  step int not null,
  pos int not null,
  message_id uuid not null,
  provider_call_id text not null,
  tool_id uuid,
  slug text not null,
  kind text,
  effect text not null,
  concurrency text not null,
  critical boolean not null default false,
  client_owned boolean not null default false,
  is_idempotent boolean not null default false,
  timeout_s int not null,
  response_max_chars int not null,
  args jsonb,
  args_hash text,
  state text not null default 'recorded',
  attempt int not null default 0,
  claimed_at timestamptz(3),
  deadline_at timestamptz(3),
  output jsonb,
  output_type text,
  total_chars int,
  truncated boolean not null default false,
  error jsonb,
  child_run_id uuid,
  finished_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint tool_calls_kind_check check (kind in ('http', 'remote_protocol', 'builtin', 'code_exec', 'web_search', 'web_fetch', 'delegate', 'schedule')),
  constraint tool_calls_effect_check check (effect in ('read', 'write')),
  constraint tool_calls_concurrency_check check (concurrency in ('read', 'write', 'exclusive')),
  constraint tool_calls_state_check check (state in ('recorded', 'gated', 'ready', 'executing', 'succeeded', 'failed', 'denied', 'timed_out', 'cancelled', 'unknown')),
  constraint tool_calls_output_type_check check (output_type in ('text', 'json', 'attachment'))
);
create unique index tool_calls_position_key on tool_calls (run_id, step, pos);
create index tool_calls_message_idx on tool_calls (message_id);
create index tool_calls_child_idx on tool_calls (child_run_id) where child_run_id is not null;
alter table tool_calls enable row level security, force row level security;
create policy app_select on tool_calls for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on tool_calls for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on tool_calls for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on tool_calls for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on tool_calls to longhaul_sweeper using (true) with check (true);

create table tool_outputs (
  run_id uuid not null,
  call_id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  body text not null,
  media_type text not null,
  created_at timestamptz(3) not null default now(),
  primary key (run_id, call_id)
);
alter table tool_outputs enable row level security, force row level security;
create policy app_select on tool_outputs for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on tool_outputs for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on tool_outputs for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on tool_outputs for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on tool_outputs to longhaul_sweeper using (true) with check (true);
