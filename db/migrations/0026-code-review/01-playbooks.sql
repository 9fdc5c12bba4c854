-- Playbooks: how pull requests are reviewed. A revision never changes.

create table review_playbooks (
  id uuid not null,
  scope text not null,
  organization_id uuid,
  workspace_id uuid,
  slug text not null,
  name text not null,
  description text,
  is_default boolean not null default false,
  is_active boolean not null default true,
  active_revision_id uuid,
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (id),
  constraint review_playbooks_tenant_key unique (id, organization_id),
  constraint review_playbooks_scope_columns check ((scope = 'platform' and organization_id is null and workspace_id is null) or (scope = 'organization' and organization_id is not null and workspace_id is null) or (scope = 'workspace' and organization_id is not null and workspace_id is not null)),
  constraint review_playbooks_scope_check check (scope in ('workspace', 'organization', 'platform'))
);
create index review_playbooks_organization_idx on review_playbooks (organization_id, id desc);
create index review_playbooks_platform_idx on review_playbooks (id desc) where scope = 'platform';
create unique index review_playbooks_slug_workspace_key on review_playbooks (workspace_id, slug) where scope = 'workspace' and deleted_at is null;
create unique index review_playbooks_slug_organization_key on review_playbooks (organization_id, slug) where scope = 'organization' and deleted_at is null;
create unique index review_playbooks_slug_platform_key on review_playbooks (slug) where scope = 'platform' and deleted_at is null;
create unique index review_playbooks_default_key on review_playbooks (scope, organization_id, workspace_id) nulls not distinct where is_default and deleted_at is null;
alter table review_playbooks enable row level security, force row level security;
create policy app_select on review_playbooks for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or (scope = 'platform' and is_active));
create policy app_insert on review_playbooks for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on review_playbooks for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on review_playbooks for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on review_playbooks to longhaul_sweeper using (true) with check (true);

create table review_playbook_revisions (
  id uuid not null,
  playbook_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  revision_number int not null,
  templates jsonb not null,
  sha256 text not null,
  note text,
  created_by_user_id uuid,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint review_playbook_revisions_playbook_key unique (id, playbook_id)
);
create index review_playbook_revisions_organization_idx on review_playbook_revisions (organization_id, id desc);
create unique index review_playbook_revisions_number_key on review_playbook_revisions (playbook_id, revision_number);
alter table review_playbook_revisions enable row level security, force row level security;
create policy app_select on review_playbook_revisions for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on review_playbook_revisions for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on review_playbook_revisions for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on review_playbook_revisions for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on review_playbook_revisions to longhaul_sweeper using (true) with check (true);
