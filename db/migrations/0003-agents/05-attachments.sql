-- Attachments and what they belong to.

create table attachments (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  filename text not null,
  media_type text not null,
  size_bytes bigint not null,
  sha256 text not null,
  purpose text not null,
  state text not null,
  created_by jsonb not null,
  storage_key text not null,
  expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint attachments_tenant_key unique (id, organization_id),
  constraint attachments_purpose_check check (purpose in ('run_input', 'knowledge', 'skill', 'toolkit', 'other')),
  constraint attachments_state_check check (state in ('scanning', 'ready', 'rejected'))
);
create index attachments_organization_idx on attachments (organization_id, id desc);
create index attachments_expires_idx on attachments (expires_at) where expires_at is not null;
create unique index attachments_storage_key on attachments (storage_key);
alter table attachments enable row level security, force row level security;
create policy app_select on attachments for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on attachments for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on attachments for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on attachments for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on attachments to longhaul_sweeper using (true) with check (true);

create table attachment_links (
  id uuid not null,
  attachment_id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  owner_kind text not null,
  owner_id uuid not null,
  conversation_id uuid,
  until timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint attachment_links_owner_kind_check check (owner_kind in ('run', 'source', 'knowledge_run', 'evaluation'))
);
create index attachment_links_owner_idx on attachment_links (owner_kind, owner_id);
create unique index attachment_links_link_key on attachment_links (attachment_id, owner_kind, owner_id);
alter table attachment_links enable row level security, force row level security;
create policy app_select on attachment_links for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on attachment_links for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on attachment_links for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on attachment_links for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on attachment_links to longhaul_sweeper using (true) with check (true);
