-- Channels: chat services in which people talk to agents, and the messages that came and went.

create table channels (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  agent_id uuid not null,
  kind text not null,
  name text not null,
  settings jsonb not null,
  secrets_enc bytea,
  secret_names jsonb not null default '[]',
  persona_slug text,
  on_busy text not null default 'enqueue',
  session_scope text not null default 'thread',
  reply_to text not null default 'mentions',
  allowed_senders jsonb not null default '[]',
  allowed_bots jsonb not null default '[]',
  streaming boolean not null default true,
  feedback_buttons boolean not null default false,
  is_active boolean not null default true,
  state text not null default 'pending',
  last_error text,
  identity jsonb,
  synced_version int not null default 0,
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (id),
  constraint channels_tenant_key unique (id, organization_id),
  constraint channels_kind_check check (kind in ('slack', 'telegram', 'discord', 'email', 'webhook')),
  constraint channels_on_busy_check check (on_busy in ('enqueue', 'interrupt', 'steer')),
  constraint channels_session_scope_check check (session_scope in ('thread', 'peer')),
  constraint channels_reply_to_check check (reply_to in ('mentions', 'all')),
  constraint channels_state_check check (state in ('pending', 'ok', 'error'))
);
create index channels_organization_idx on channels (organization_id, id desc);
create index channels_agent_idx on channels (agent_id);
create index channels_workspace_idx on channels (workspace_id) where deleted_at is null;
alter table channels enable row level security, force row level security;
create policy app_select on channels for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on channels for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on channels for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on channels for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on channels to longhaul_sweeper using (true) with check (true);

create table channel_messages (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  channel_id uuid not null,
  external_id text not null,
  thread_id text not null,
  sender_id text not null,
  sender_name text,
  is_bot boolean not null default false,
  text text not null,
  attachments jsonb not null default '[]',
  route jsonb not null,
  token_enc bytea,
  run_id uuid,
  status text not null,
  reason text,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint channel_messages_status_check check (status in ('received', 'ignored', 'failed'))
);
create index channel_messages_organization_idx on channel_messages (organization_id, id desc);
create index channel_messages_channel_idx on channel_messages (channel_id, id desc);
create unique index channel_messages_external_key on channel_messages (channel_id, external_id);
create index channel_messages_thread_idx on channel_messages (channel_id, thread_id, id desc);
create index channel_messages_run_idx on channel_messages (run_id) where run_id is not null;
create index channel_messages_age_idx on channel_messages (created_at);
alter table channel_messages enable row level security, force row level security;
create policy app_select on channel_messages for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on channel_messages for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on channel_messages for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on channel_messages for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on channel_messages to longhaul_sweeper using (true) with check (true);

create table channel_outbound (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  channel_id uuid not null,
  message_id uuid not null,
  run_id uuid,
  thread_id text not null,
  kind text not null,
  part int not null,
  text text,
  rendered text,
  state text not null default 'pending',
  is_plain boolean not null default false,
  external_id text,
  attempts int not null default 0,
  failures int not null default 0,
  last_error text,
  next_attempt_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (id),
  constraint channel_outbound_kind_check check (kind in ('reply', 'notice')),
  constraint channel_outbound_state_check check (state in ('pending', 'sending', 'sent', 'unknown', 'failed'))
);
create index channel_outbound_organization_idx on channel_outbound (organization_id, id desc);
create unique index channel_outbound_part_key on channel_outbound (message_id, kind, part);
create index channel_outbound_run_idx on channel_outbound (run_id) where run_id is not null;
create index channel_outbound_open_idx on channel_outbound (channel_id, thread_id, created_at) where state in ('pending', 'sending');
create index channel_outbound_failed_idx on channel_outbound (organization_id, updated_at) where state = 'failed';
create index channel_outbound_age_idx on channel_outbound (created_at);
alter table channel_outbound enable row level security, force row level security;
create policy app_select on channel_outbound for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on channel_outbound for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on channel_outbound for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on channel_outbound for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on channel_outbound to longhaul_sweeper using (true) with check (true);
