-- Credentials, sessions, keys, tokens.

create table user_credentials (
  user_id uuid not null,
  organization_id uuid,
  password_hash text,
  password_changed_at timestamptz(3) not null default now(),
  email_verified_at timestamptz(3),
  pending_email text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (user_id)
);
alter table user_credentials enable row level security, force row level security;
create policy app_select on user_credentials for select to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_insert on user_credentials for insert to longhaul_app with check ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_update on user_credentials for update to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user())) with check ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_delete on user_credentials for delete to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy sweeper_all on user_credentials to longhaul_sweeper using (true) with check (true);
create policy gate_select on user_credentials for select to longhaul_gate using (true);

create table totp_factors (
  user_id uuid not null,
  organization_id uuid,
  secret_enc bytea not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3),
  confirmed_at timestamptz(3),
  primary key (user_id)
);
alter table totp_factors enable row level security, force row level security;
create policy app_select on totp_factors for select to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_insert on totp_factors for insert to longhaul_app with check ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_update on totp_factors for update to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user())) with check ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_delete on totp_factors for delete to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy sweeper_all on totp_factors to longhaul_sweeper using (true) with check (true);
create policy gate_select on totp_factors for select to longhaul_gate using (true);

create table sessions (
  id uuid not null,
  user_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  kind text not null default 'login',
  client_id text,
  client_name text,
  oauth_scope text,
  resource text,
  device_label text,
  user_agent text not null,
  ip_truncated text not null,
  mfa_level text not null default 'none',
  verified_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  last_seen_at timestamptz(3) not null,
  idle_expires_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  revoke_reason text,
  primary key (id),
  constraint sessions_oauth_has_client check ((kind = 'oauth') = (client_id is not null)),
  constraint sessions_kind_check check (kind in ('login', 'oauth')),
  constraint sessions_mfa_level_check check (mfa_level in ('none', 'totp', 'recovery_code'))
);
create index sessions_live_idx on sessions (user_id) where revoked_at is null;
create index sessions_user_idx on sessions (user_id, id desc);
create index sessions_client_idx on sessions (client_id) where client_id is not null;
alter table sessions enable row level security, force row level security;
create policy app_select on sessions for select to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_insert on sessions for insert to longhaul_app with check ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_update on sessions for update to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user())) with check ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_delete on sessions for delete to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy sweeper_all on sessions to longhaul_sweeper using (true) with check (true);
create policy gate_select on sessions for select to longhaul_gate using (true);

create table refresh_tokens (
  id uuid not null,
  session_id uuid not null,
  user_id uuid not null,
  organization_id uuid,
  token_hash bytea not null,
  parent_id uuid,
  oauth_scope text,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  used_at timestamptz(3),
  primary key (id)
);
create unique index refresh_tokens_token_hash_key on refresh_tokens (token_hash);
create index refresh_tokens_session_idx on refresh_tokens (session_id);
alter table refresh_tokens enable row level security, force row level security;
create policy app_select on refresh_tokens for select to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_insert on refresh_tokens for insert to longhaul_app with check ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_update on refresh_tokens for update to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user())) with check ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_delete on refresh_tokens for delete to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy sweeper_all on refresh_tokens to longhaul_sweeper using (true) with check (true);
create policy gate_select on refresh_tokens for select to longhaul_gate using (true);

create table service_keys (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid,
  scope text not null,
  name text not null,
  role text not null default 'member',
  scopes text[] not null default '{*}',
  prefix text not null,
  last4 text not null,
  key_hash bytea not null,
  created_by_user_id uuid not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  expires_at timestamptz(3),
  last_used_at timestamptz(3),
  rotated_at timestamptz(3),
  revoked_at timestamptz(3),
  version int not null default 1,
  primary key (id),
  constraint service_keys_scope_columns check ((scope = 'workspace') = (workspace_id is not null)),
  constraint service_keys_scope_check check (scope in ('workspace', 'organization')),
  constraint service_keys_role_check check (role in ('viewer', 'member', 'admin'))
);
create index service_keys_organization_idx on service_keys (organization_id, id desc);
create index service_keys_creator_idx on service_keys (created_by_user_id);
create unique index service_keys_key_hash_key on service_keys (key_hash);
alter table service_keys enable row level security, force row level security;
create policy app_select on service_keys for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on service_keys for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on service_keys for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on service_keys for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on service_keys to longhaul_sweeper using (true) with check (true);
create policy gate_select on service_keys for select to longhaul_gate using (true);

create table login_failures (
  id uuid not null,
  at timestamptz(3) not null default now(),
  account_hash bytea not null,
  user_id uuid,
  organization_id uuid,
  ip_truncated text not null,
  reason text not null,
  primary key (id)
);
create index login_failures_organization_idx on login_failures (organization_id, at);
alter table login_failures enable row level security, force row level security;
create policy app_select on login_failures for select to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or organization_id is null);
create policy app_insert on login_failures for insert to longhaul_app with check ((select app_operator()) or organization_id = (select app_org()) or organization_id is null);
create policy app_update on login_failures for update to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or organization_id is null) with check ((select app_operator()) or organization_id = (select app_org()) or organization_id is null);
create policy app_delete on login_failures for delete to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or organization_id is null);
create policy sweeper_all on login_failures to longhaul_sweeper using (true) with check (true);

create table signing_keys (
  kid text not null,
  public_jwk jsonb not null,
  private_enc bytea not null,
  state text not null,
  created_at timestamptz(3) not null default now(),
  current_at timestamptz(3),
  retired_at timestamptz(3),
  primary key (kid),
  constraint signing_keys_state_check check (state in ('next', 'current', 'retired'))
);
create unique index signing_keys_current_key on signing_keys (state) where state = 'current';
alter table signing_keys enable row level security, force row level security;
create policy app_select on signing_keys for select to longhaul_app using (true);
create policy app_insert on signing_keys for insert to longhaul_app with check ((select app_operator()));
create policy app_update on signing_keys for update to longhaul_app using ((select app_operator())) with check ((select app_operator()));
create policy app_delete on signing_keys for delete to longhaul_app using ((select app_operator()));
create policy sweeper_all on signing_keys to longhaul_sweeper using (true) with check (true);

create table stream_tokens (
  token_hash bytea not null,
  run_id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  principal_kind text not null,
  principal_id uuid not null,
  session_id uuid,
  acting_user_id uuid,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  used_at timestamptz(3),
  primary key (token_hash)
);
create index stream_tokens_expires_idx on stream_tokens (expires_at);
create index stream_tokens_session_idx on stream_tokens (session_id) where used_at is null;
alter table stream_tokens enable row level security, force row level security;
create policy app_select on stream_tokens for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on stream_tokens for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on stream_tokens for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on stream_tokens for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on stream_tokens to longhaul_sweeper using (true) with check (true);
create policy gate_select on stream_tokens for select to longhaul_gate using (true);
create policy gate_update on stream_tokens for update to longhaul_gate using (true) with check (true);
