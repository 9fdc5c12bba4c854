-- Questions to people.

create table approvals (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  run_id uuid not null,
  root_run_id uuid not null,
  agent_id uuid not null,
  tool_call_id uuid,
  round int not null default 1,
  tool_slug text,
  reason text not null,
  status text not null default 'pending',
  prompt text not null,
  args jsonb,
  args_hash text,
  response_schema jsonb,
  decisions text[] not null,
  critical boolean not null default false,
  approver_floor text not null,
  expires_at timestamptz(3) not null,
  on_expiry text not null,
  edited_args jsonb,
  response jsonb,
  comment text,
  resolved_by_kind text,
  resolved_by_id uuid,
  resolved_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint approvals_resolved_at check ((status = 'pending') = (resolved_at is null)),
  constraint approvals_reason_check check (reason in ('tool_call', 'input_required', 'confirmation', 'budget', 'auth')),
  constraint approvals_status_check check (status in ('pending', 'approved', 'rejected', 'edited', 'responded', 'expired', 'cancelled')),
  constraint approvals_approver_floor_check check (approver_floor in ('member', 'admin')),
  constraint approvals_on_expiry_check check (on_expiry in ('deny', 'fail')),
  constraint approvals_resolved_by_kind_check check (resolved_by_kind in ('user', 'service_key', 'system'))
);
create index approvals_organization_idx on approvals (organization_id, id desc);
create unique index approvals_question_key on approvals (tool_call_id, round) where tool_call_id is not null;
create index approvals_run_idx on approvals (run_id);
create index approvals_root_idx on approvals (root_run_id);
create index approvals_pending_idx on approvals (root_run_id) where status = 'pending';
create index approvals_expiry_idx on approvals (expires_at) where status = 'pending';
alter table approvals enable row level security, force row level security;
create policy app_select on approvals for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on approvals for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on approvals for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on approvals for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on approvals to longhaul_sweeper using (true) with check (true);
