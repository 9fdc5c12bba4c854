-- Votes.

create table feedback (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  run_id uuid not null,
  agent_id uuid not null,
  agent_revision_id uuid,
  subject_kind text not null,
  subject_id text not null,
  rating text not null,
  comment text,
  tags text[] not null default '{}',
  correction text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (id),
  constraint feedback_subject_kind_check check (subject_kind in ('user', 'guest', 'service_key')),
  constraint feedback_rating_check check (rating in ('up', 'down'))
);
create index feedback_organization_idx on feedback (organization_id, id desc);
create unique index feedback_vote_key on feedback (run_id, subject_kind, subject_id);
create index feedback_agent_idx on feedback (workspace_id, agent_id, agent_revision_id, updated_at);
alter table feedback enable row level security, force row level security;
create policy app_select on feedback for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on feedback for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on feedback for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on feedback for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on feedback to longhaul_sweeper using (true) with check (true);
