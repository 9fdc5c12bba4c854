-- Impersonations, purges, audit seals.

create table impersonations (
  id uuid not null,
  operator_user_id uuid not null,
  target_user_id uuid not null,
  organization_id uuid not null,
  workspace_id uuid,
  reason text not null,
  token_hash bytea not null,
  started_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3),
  ended_by_user_id uuid,
  created_at timestamptz(3) not null default now(),
  primary key (id)
);
create index impersonations_organization_idx on impersonations (organization_id, id desc);
create unique index impersonations_token_hash_key on impersonations (token_hash);
create index impersonations_target_idx on impersonations (target_user_id);
alter table impersonations enable row level security, force row level security;
create policy app_select on impersonations for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on impersonations for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on impersonations for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on impersonations for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on impersonations to longhaul_sweeper using (true) with check (true);

create table purges (
  id uuid not null,
  organization_id uuid not null,
  reason text,
  requested_by_user_id uuid,
  status text not null default 'queued',
  step text,
  counts jsonb not null default '{}',
  last_error text,
  started_at timestamptz(3),
  finished_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version int not null default 1,
  primary key (id),
  constraint purges_status_check check (status in ('queued', 'running', 'succeeded', 'failed'))
);
create unique index purges_open_key on purges (organization_id) where status in ('queued', 'running');
alter table purges enable row level security, force row level security;
create policy app_select on purges for select to longhaul_app using ((select app_operator()) or organization_id = (select app_org()));
create policy app_insert on purges for insert to longhaul_app with check ((select app_operator()) or organization_id = (select app_org()));
create policy app_update on purges for update to longhaul_app using ((select app_operator()) or organization_id = (select app_org())) with check ((select app_operator()) or organization_id = (select app_org()));
create policy app_delete on purges for delete to longhaul_app using ((select app_operator()) or organization_id = (select app_org()));
create policy sweeper_all on purges to longhaul_sweeper using (true) with check (true);

create table audit_seals (
  chain text not null,
  seal_no bigint not null,
  organization_id uuid,
  first_seq bigint not null,
  last_seq bigint not null,
  entries int not null,
  mac bytea not null,
  previous_mac bytea,
  entry_macs bytea not null,
  key_id text not null,
  purged_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (chain, seal_no)
);
create index audit_seals_organization_idx on audit_seals (organization_id, seal_no);
create index audit_seals_kept_idx on audit_seals (chain, seal_no) where purged_at is null;
alter table audit_seals enable row level security, force row level security;
create policy app_select on audit_seals for select to longhaul_app using ((select app_operator()) or organization_id = (select app_org()));
create policy app_insert on audit_seals for insert to longhaul_app with check ((select app_operator()) or organization_id = (select app_org()));
create policy app_update on audit_seals for update to longhaul_app using (false) with check (false);
create policy app_delete on audit_seals for delete to longhaul_app using (false);
create policy sweeper_all on audit_seals to longhaul_sweeper using (true) with check (true);
