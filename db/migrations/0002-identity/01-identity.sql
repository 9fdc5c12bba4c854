-- Second factors, recovery codes, challenges.

create table recovery_codes (
  user_id uuid not null,
  code_hash bytea not null,
  organization_id uuid,
  created_at timestamptz(3) not null default now(),
  used_at timestamptz(3),
  primary key (user_id, code_hash)
);
alter table recovery_codes enable row level security, force row level security;
create policy app_select on recovery_codes for select to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_insert on recovery_codes for insert to longhaul_app with check ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_update on recovery_codes for update to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user())) with check ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_delete on recovery_codes for delete to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy sweeper_all on recovery_codes to longhaul_sweeper using (true) with check (true);

create table auth_challenges (
  id uuid not null,
  purpose text not null,
  user_id uuid not null,
  organization_id uuid,
  token_hash bytea,
  attempts int not null default 0,
  payload jsonb not null default '{}',
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  used_at timestamptz(3),
  primary key (id),
  constraint auth_challenges_attempts check (attempts <= 5),
  constraint auth_challenges_purpose_check check (purpose in ('login', 'password_reset', 'email_confirm'))
);
create unique index auth_challenges_token_hash_key on auth_challenges (token_hash);
create index auth_challenges_user_idx on auth_challenges (user_id, purpose);
create index auth_challenges_expires_idx on auth_challenges (expires_at);
alter table auth_challenges enable row level security, force row level security;
create policy app_select on auth_challenges for select to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_insert on auth_challenges for insert to longhaul_app with check ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_update on auth_challenges for update to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user())) with check ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy app_delete on auth_challenges for delete to longhaul_app using ((select app_operator()) or organization_id = (select app_org()) or user_id = (select app_user()));
create policy sweeper_all on auth_challenges to longhaul_sweeper using (true) with check (true);
