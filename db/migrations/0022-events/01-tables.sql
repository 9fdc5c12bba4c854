-- What starts runs when something happens, and what became of each event.

create table event_triggers (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  agent_id uuid not null,
  name text not null,
  event_kind text not null,
  filter jsonb,
  prompt_template text not null,
  input_template jsonb,
  session_key_template text,
  persona_slug_template text,
  subject_template jsonb,
  coalescing jsonb,
  max_depth int not null default 3,
  is_active boolean not null default true,
  created_by_user_id uuid,
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (id),
  constraint event_triggers_tenant_key unique (id, organization_id)
);
create index event_triggers_organization_idx on event_triggers (organization_id, id desc);
create index event_triggers_agent_idx on event_triggers (agent_id);
create index event_triggers_live_idx on event_triggers (workspace_id) where deleted_at is null;
alter table event_triggers enable row level security, force row level security;
create policy app_select on event_triggers for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on event_triggers for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on event_triggers for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on event_triggers for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on event_triggers to longhaul_sweeper using (true) with check (true);

create table event_trigger_counters (
  trigger_id uuid not null,
  shard smallint not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  n bigint not null,
  primary key (trigger_id, shard)
);
alter table event_trigger_counters enable row level security, force row level security;
create policy app_select on event_trigger_counters for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on event_trigger_counters for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on event_trigger_counters for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on event_trigger_counters for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on event_trigger_counters to longhaul_sweeper using (true) with check (true);

create table event_matches (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  event_id uuid not null,
  trigger_id uuid not null,
  outcome text not null,
  run_id uuid,
  error_code text,
  occurred_at timestamptz(3) not null,
  body_bytes int not null default 0,
  coalesce_hash bytea,
  group_id uuid,
  closed_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint event_matches_outcome_check check (outcome in ('started', 'coalescing', 'merged', 'dropped', 'filtered', 'depth_exceeded', 'capped', 'failed'))
);
create index event_matches_organization_idx on event_matches (organization_id, id desc);
create unique index event_matches_event_key on event_matches (event_id, trigger_id);
create index event_matches_run_idx on event_matches (run_id) where run_id is not null;
create index event_matches_coalescing_idx on event_matches (trigger_id, coalesce_hash) where outcome = 'coalescing';
create index event_matches_closed_idx on event_matches (trigger_id, coalesce_hash, closed_at) where closed_at is not null;
alter table event_matches enable row level security, force row level security;
create policy app_select on event_matches for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on event_matches for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on event_matches for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on event_matches for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on event_matches to longhaul_sweeper using (true) with check (true);

create table event_keys (
  workspace_id uuid not null,
  digest bytea not null,
  organization_id uuid not null,
  event_id uuid not null,
  expires_at timestamptz(3) not null,
  primary key (workspace_id, digest)
);
create index event_keys_expires_idx on event_keys (expires_at);
alter table event_keys enable row level security, force row level security;
create policy app_select on event_keys for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on event_keys for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on event_keys for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on event_keys for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on event_keys to longhaul_sweeper using (true) with check (true);

-- What stands behind an event counts for the runs that it starts.
alter table events add column untrusted boolean not null default false;
alter table events add column max_effect text not null default 'write';
alter table events add column hops smallint not null default 0;
alter table events add column started_runs int not null default 0;
alter table events add constraint events_max_effect_check check (max_effect in ('read', 'write'));
create index events_pending_idx on events (id) where fan_out = 'pending';
-- Callbacks that were given up, for the rules that count them.
create index outbound_callbacks_failed_idx on outbound_callbacks (organization_id, updated_at) where status = 'failed';
