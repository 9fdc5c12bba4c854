-- Audit, outbox, idempotency, marks, ledger.

create table audit_entries (
  id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  actor_kind text not null,
  actor_id uuid,
  actor_role text,
  acting_user_id uuid,
  impersonation_id uuid,
  action text not null,
  resource_type text not null,
  resource_id text,
  resource_label text,
  outcome text not null default 'success',
  changes jsonb not null default '{}',
  operation_id text,
  correlation_id uuid,
  ip text,
  user_agent text,
  seq bigint,
  seal_no bigint,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint audit_entries_actor_kind_check check (actor_kind in ('user', 'service_key', 'oauth_client', 'operator', 'agent_run', 'ingress', 'system')),
  constraint audit_entries_action_check check (action in ('create', 'update', 'delete', 'login', 'logout', 'submit', 'approve', 'purge', 'impersonate')),
  constraint audit_entries_outcome_check check (outcome in ('success', 'denied'))
);
create index audit_entries_organization_id_idx on audit_entries (organization_id, created_at desc, id desc);
create index audit_entries_workspace_id_idx on audit_entries (workspace_id, created_at desc, id desc);
create index audit_entries_actor_id_idx on audit_entries (actor_id, created_at desc, id desc);
create index audit_entries_acting_user_id_idx on audit_entries (acting_user_id, created_at desc, id desc);
create index audit_entries_resource_type_idx on audit_entries (resource_type, created_at desc, id desc);
create index audit_entries_unsealed_idx on audit_entries (organization_id, id) where seal_no is null;
alter table audit_entries enable row level security, force row level security;
create policy app_select on audit_entries for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on audit_entries for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_update on audit_entries for update to longhaul_app using (false) with check (false);
create policy app_delete on audit_entries for delete to longhaul_app using (false);
create policy sweeper_all on audit_entries to longhaul_sweeper using (true) with check (true);

create table outbox (
  id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  kind text not null,
  dedupe_key text not null,
  target text not null,
  payload jsonb not null,
  not_before timestamptz(3) not null default now(),
  attempts int not null default 0,
  last_error text,
  sent_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (id)
);
create unique index outbox_dedupe_key on outbox (kind, dedupe_key);
create index outbox_due_idx on outbox (not_before) where sent_at is null;
create index outbox_sent_idx on outbox (sent_at) where sent_at is not null;
alter table outbox enable row level security, force row level security;
create policy app_select on outbox for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on outbox for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_update on outbox for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_delete on outbox for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy sweeper_all on outbox to longhaul_sweeper using (true) with check (true);

create table idempotency_keys (
  id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  principal_kind text not null,
  principal_id uuid not null,
  acting_user_id uuid,
  method text not null,
  route text not null,
  key text not null,
  fingerprint bytea not null,
  state text not null,
  lease_until timestamptz(3),
  status smallint,
  headers jsonb,
  body bytea,
  body_key_id text,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  primary key (id),
  constraint idempotency_keys_state_check check (state in ('running', 'done'))
);
create unique index idempotency_keys_request_key on idempotency_keys (organization_id, workspace_id, principal_kind, principal_id, acting_user_id, method, route, key) nulls not distinct;
create index idempotency_keys_expires_idx on idempotency_keys (expires_at);
alter table idempotency_keys enable row level security, force row level security;
create policy app_select on idempotency_keys for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on idempotency_keys for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_update on idempotency_keys for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_delete on idempotency_keys for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy sweeper_all on idempotency_keys to longhaul_sweeper using (true) with check (true);

create table system_marks (
  name text not null,
  at timestamptz(3) not null,
  detail jsonb not null default '{}',
  primary key (name)
);
alter table system_marks enable row level security, force row level security;
create policy app_select on system_marks for select to longhaul_app using (true);
create policy app_insert on system_marks for insert to longhaul_app with check ((select app_operator()));
create policy app_update on system_marks for update to longhaul_app using ((select app_operator())) with check ((select app_operator()));
create policy app_delete on system_marks for delete to longhaul_app using ((select app_operator()));
create policy sweeper_all on system_marks to longhaul_sweeper using (true) with check (true);

create table usage_entries (
  id uuid not null,
  call_key text not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  occurred_at timestamptz(3) not null,
  reserved_at timestamptz(3) not null,
  source_kind text not null,
  source_id uuid not null,
  run_id uuid,
  agent_id uuid,
  agent_revision_id uuid,
  user_id uuid,
  service_key_id uuid,
  step int,
  attempt int not null default 1,
  kind text not null,
  model text,
  provider text,
  tier text,
  provider_request_id text,
  input_tokens bigint not null default '0',
  cached_read_tokens bigint not null default '0',
  cached_write_tokens bigint not null default '0',
  output_tokens bigint not null default '0',
  reasoning_tokens bigint not null default '0',
  units numeric(20,9),
  cost numeric(20,9) not null,
  currency char(3) not null,
  estimated boolean not null default false,
  unpriced boolean not null default false,
  price_ids uuid[] not null default '{}',
  correlation_id uuid,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint usage_entries_source_kind_check check (source_kind in ('run', 'evaluation', 'review', 'maintenance', 'search', 'tool_test', 'adjustment')),
  constraint usage_entries_kind_check check (kind in ('llm', 'embedding', 'rerank', 'tool', 'search', 'adjustment'))
);
create unique index usage_entries_call_key on usage_entries (call_key, kind);
create index usage_entries_workspace_idx on usage_entries (workspace_id, occurred_at desc, id desc);
create index usage_entries_run_idx on usage_entries (run_id) where run_id is not null;
create index usage_entries_organization_idx on usage_entries (organization_id, occurred_at);
alter table usage_entries enable row level security, force row level security;
create policy app_select on usage_entries for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on usage_entries for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on usage_entries for update to longhaul_app using (false) with check (false);
create policy app_delete on usage_entries for delete to longhaul_app using (false);
create policy sweeper_all on usage_entries to longhaul_sweeper using (true) with check (true);

create table model_prices (
  id uuid not null,
  model text not null,
  tier text not null default 'standard',
  bucket text not null,
  unit text not null,
  price numeric(24,12) not null,
  currency char(3) not null,
  effective_from timestamptz(3) not null,
  source text,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint model_prices_bucket_check check (bucket in ('input', 'cached_read', 'cached_write', 'output', 'reasoning', 'call')),
  constraint model_prices_unit_check check (unit in ('1m_tokens', 'call'))
);
create unique index model_prices_effective_key on model_prices (model, tier, bucket, currency, effective_from);
alter table model_prices enable row level security, force row level security;
create policy app_select on model_prices for select to longhaul_app using (true);
create policy app_insert on model_prices for insert to longhaul_app with check ((select app_operator()));
create policy app_update on model_prices for update to longhaul_app using ((select app_operator())) with check ((select app_operator()));
create policy app_delete on model_prices for delete to longhaul_app using ((select app_operator()));
create policy sweeper_all on model_prices to longhaul_sweeper using (true) with check (true);
