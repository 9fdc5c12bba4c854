-- Webhook endpoints and what came to them.

create table webhook_endpoints (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  agent_id uuid not null,
  slug text not null,
  http_method text not null default 'POST',
  verification text not null default 'hmac_sha256',
  secrets_enc bytea,
  secret_overlap_until timestamptz(3),
  prompt_template text not null,
  input_template jsonb,
  session_key_template text,
  persona_slug_template text,
  subject_template jsonb,
  response_mode text not null default 'async',
  response_path text,
  callback_url text,
  callback_stopped_at timestamptz(3),
  event_kind text,
  coalescing jsonb,
  rate_limit_per_minute int not null default 60,
  unverified_ack boolean not null default false,
  is_active boolean not null default true,
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (id),
  constraint webhook_endpoints_tenant_key unique (id, organization_id),
  constraint webhook_endpoints_http_method_check check (http_method in ('POST', 'GET')),
  constraint webhook_endpoints_verification_check check (verification in ('hmac_sha256', 'shared_token', 'none')),
  constraint webhook_endpoints_response_mode_check check (response_mode in ('async', 'sync', 'callback', 'ack'))
);
create index webhook_endpoints_organization_idx on webhook_endpoints (organization_id, id desc);
create index webhook_endpoints_agent_idx on webhook_endpoints (agent_id);
create unique index webhook_endpoints_slug_key on webhook_endpoints (workspace_id, slug) where deleted_at is null;
alter table webhook_endpoints enable row level security, force row level security;
create policy app_select on webhook_endpoints for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on webhook_endpoints for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on webhook_endpoints for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on webhook_endpoints for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on webhook_endpoints to longhaul_sweeper using (true) with check (true);

create table endpoint_counters (
  endpoint_id uuid not null,
  shard smallint not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  n bigint not null,
  primary key (endpoint_id, shard)
);
alter table endpoint_counters enable row level security, force row level security;
create policy app_select on endpoint_counters for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on endpoint_counters for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on endpoint_counters for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on endpoint_counters for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on endpoint_counters to longhaul_sweeper using (true) with check (true);

create table webhook_deliveries (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  endpoint_id uuid not null,
  status text not null,
  method text not null,
  verification_form text,
  delivery_key text,
  received_at timestamptz(3) not null default now(),
  occurred_at timestamptz(3) not null,
  content_type text,
  body bytea,
  body_bytes int not null,
  headers jsonb not null default '{}',
  query jsonb not null default '{}',
  run_id uuid,
  event_id uuid,
  group_id uuid,
  coalesce_hash bytea,
  closed_at timestamptz(3),
  hops smallint not null default 0,
  replay_of uuid,
  duplicate_count int not null default 0,
  warnings jsonb not null default '[]',
  error_code text,
  error_reason text,
  response_status smallint not null,
  primary key (id),
  constraint webhook_deliveries_status_check check (status in ('started', 'published', 'coalescing', 'merged', 'dropped', 'rejected', 'failed')),
  constraint webhook_deliveries_method_check check (method in ('POST', 'GET'))
);
create index webhook_deliveries_organization_idx on webhook_deliveries (organization_id, id desc);
create index webhook_deliveries_endpoint_idx on webhook_deliveries (endpoint_id, id desc);
create index webhook_deliveries_rejected_idx on webhook_deliveries (endpoint_id, received_at) where status = 'rejected';
create index webhook_deliveries_run_idx on webhook_deliveries (run_id) where run_id is not null;
create index webhook_deliveries_coalescing_idx on webhook_deliveries (endpoint_id, coalesce_hash) where status = 'coalescing';
create index webhook_deliveries_closed_idx on webhook_deliveries (endpoint_id, coalesce_hash, closed_at) where closed_at is not null;
create index webhook_deliveries_event_idx on webhook_deliveries (event_id) where event_id is not null;
create index webhook_deliveries_age_idx on webhook_deliveries (received_at);
create index webhook_deliveries_body_idx on webhook_deliveries (received_at) where body is not null;
alter table webhook_deliveries enable row level security, force row level security;
create policy app_select on webhook_deliveries for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on webhook_deliveries for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on webhook_deliveries for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on webhook_deliveries for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on webhook_deliveries to longhaul_sweeper using (true) with check (true);

create table delivery_keys (
  endpoint_id uuid not null,
  digest bytea not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  delivery_id uuid not null,
  expires_at timestamptz(3) not null,
  primary key (endpoint_id, digest)
);
create index delivery_keys_expires_idx on delivery_keys (expires_at);
alter table delivery_keys enable row level security, force row level security;
create policy app_select on delivery_keys for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on delivery_keys for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on delivery_keys for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on delivery_keys for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on delivery_keys to longhaul_sweeper using (true) with check (true);

create table outbound_callbacks (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  endpoint_id uuid not null,
  run_id uuid not null,
  delivery_id uuid not null,
  url text not null,
  status text not null default 'pending',
  attempts int not null default 0,
  last_status int,
  last_error text,
  next_attempt_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (id),
  constraint outbound_callbacks_status_check check (status in ('pending', 'delivered', 'failed', 'stopped'))
);
create index outbound_callbacks_organization_idx on outbound_callbacks (organization_id, id desc);
create unique index outbound_callbacks_run_key on outbound_callbacks (endpoint_id, run_id);
create index outbound_callbacks_run_idx on outbound_callbacks (run_id);
create index outbound_callbacks_age_idx on outbound_callbacks (created_at);
create index outbound_callbacks_pending_idx on outbound_callbacks (id) where status = 'pending';
alter table outbound_callbacks enable row level security, force row level security;
create policy app_select on outbound_callbacks for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on outbound_callbacks for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on outbound_callbacks for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on outbound_callbacks for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on outbound_callbacks to longhaul_sweeper using (true) with check (true);

create table events (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  event_kind text not null,
  source text not null,
  subject text,
  payload jsonb not null default '{}',
  dedupe_key text,
  depth int not null default 0,
  root_event_id uuid not null,
  cause_run_id uuid,
  fan_out text not null default 'pending',
  occurred_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint events_source_check check (source in ('api', 'webhook', 'platform')),
  constraint events_fan_out_check check (fan_out in ('pending', 'done'))
);
create index events_organization_idx on events (organization_id, id desc);
create index events_kind_idx on events (workspace_id, event_kind, id desc);
create index events_cause_idx on events (cause_run_id) where cause_run_id is not null;
create index events_age_idx on events (created_at);
alter table events enable row level security, force row level security;
create policy app_select on events for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on events for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on events for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on events for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on events to longhaul_sweeper using (true) with check (true);

-- How many hooks of deployments a cause has come through; 0 for all that no hook has started.
alter table runs add column hops smallint not null default 0;
