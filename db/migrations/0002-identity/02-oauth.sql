-- OAuth clients, transactions, codes.

create table oauth_clients (
  id uuid not null,
  client_id text not null,
  kind text not null,
  client_name text not null,
  redirect_uris text[] not null default '{}',
  token_endpoint_auth_method text not null,
  secret_hash bytea,
  registration_hash bytea,
  grant_types text[] not null default '{}',
  scope text,
  organization_id uuid,
  workspace_id uuid,
  role text,
  document jsonb,
  document_expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3),
  secret_rotated_at timestamptz(3),
  deleted_at timestamptz(3),
  version int not null default 1,
  primary key (id),
  constraint oauth_clients_secret check ((secret_hash is not null) = (token_endpoint_auth_method <> 'none')),
  constraint oauth_clients_kind_check check (kind in ('preregistered', 'registered', 'document')),
  constraint oauth_clients_token_endpoint_auth_method_check check (token_endpoint_auth_method in ('none', 'client_secret_basic', 'client_secret_post')),
  constraint oauth_clients_role_check check (role in ('viewer', 'member', 'admin'))
);
create index oauth_clients_organization_idx on oauth_clients (organization_id, id desc);
create unique index oauth_clients_client_key on oauth_clients (client_id);
alter table oauth_clients enable row level security, force row level security;
create policy app_select on oauth_clients for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on oauth_clients for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_update on oauth_clients for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_delete on oauth_clients for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy sweeper_all on oauth_clients to longhaul_sweeper using (true) with check (true);

create table oauth_transactions (
  id_hash bytea not null,
  client_id text not null,
  request jsonb not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  decided_at timestamptz(3),
  user_id uuid,
  organization_id uuid,
  primary key (id_hash)
);
create index oauth_transactions_expires_idx on oauth_transactions (expires_at);
alter table oauth_transactions enable row level security, force row level security;
create policy app_select on oauth_transactions for select to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or organization_id is null);
create policy app_insert on oauth_transactions for insert to longhaul_app with check ((select app_operator()) or organization_id = (select app_org()) or organization_id is null);
create policy app_update on oauth_transactions for update to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or organization_id is null) with check ((select app_operator()) or organization_id = (select app_org()) or organization_id is null);
create policy app_delete on oauth_transactions for delete to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or organization_id is null);
create policy sweeper_all on oauth_transactions to longhaul_sweeper using (true) with check (true);

create table oauth_codes (
  code_hash bytea not null,
  client_id text not null,
  user_id uuid not null,
  organization_id uuid,
  session_id uuid,
  redirect_uri text not null,
  code_challenge text not null,
  scope text not null,
  resource text not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  used_at timestamptz(3),
  primary key (code_hash)
);
create index oauth_codes_user_idx on oauth_codes (user_id);
create index oauth_codes_expires_idx on oauth_codes (expires_at);
alter table oauth_codes enable row level security, force row level security;
create policy app_select on oauth_codes for select to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_insert on oauth_codes for insert to longhaul_app with check ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_update on oauth_codes for update to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user())) with check ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_delete on oauth_codes for delete to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy sweeper_all on oauth_codes to longhaul_sweeper using (true) with check (true);
