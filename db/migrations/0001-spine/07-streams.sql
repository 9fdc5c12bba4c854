-- Frames: heads, fences, chunks.
-- Every append updates heads and fences in place: half-empty pages keep those updates off the indexes.

create table run_streams (
  run_id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  root_run_id uuid not null,
  head_seq bigint not null default '0',
  ended boolean not null default false,
  cancel_requested boolean not null default false,
  updated_at timestamptz(3) not null default now(),
  primary key (run_id)
) with (fillfactor = 50);
create index run_streams_ended_idx on run_streams (updated_at) where ended;
alter table run_streams enable row level security, force row level security;
create policy app_select on run_streams for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on run_streams for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on run_streams for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on run_streams for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on run_streams to longhaul_sweeper using (true) with check (true);
create policy gate_select on run_streams for select to longhaul_gate using (true);
create policy gate_update on run_streams for update to longhaul_gate using (true) with check (true);

create table run_stream_scopes (
  run_id uuid not null,
  scope text not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  attempt int not null,
  batch int not null,
  first_seq bigint not null,
  last_seq bigint not null,
  open_message_ids uuid[] not null default '{}',
  primary key (run_id, scope)
) with (fillfactor = 50);
alter table run_stream_scopes enable row level security, force row level security;
create policy app_select on run_stream_scopes for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on run_stream_scopes for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on run_stream_scopes for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on run_stream_scopes for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on run_stream_scopes to longhaul_sweeper using (true) with check (true);
create policy gate_select on run_stream_scopes for select to longhaul_gate using (true);
create policy gate_insert on run_stream_scopes for insert to longhaul_gate with check (true);
create policy gate_update on run_stream_scopes for update to longhaul_gate using (true) with check (true);
create policy gate_delete on run_stream_scopes for delete to longhaul_gate using (true);

create table run_frame_chunks (
  run_id uuid not null,
  first_seq bigint not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  last_seq bigint not null,
  frames text[] not null,
  created_at timestamptz(3) not null default now(),
  primary key (run_id, first_seq)
);
alter table run_frame_chunks enable row level security, force row level security;
create policy app_select on run_frame_chunks for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on run_frame_chunks for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on run_frame_chunks for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on run_frame_chunks for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on run_frame_chunks to longhaul_sweeper using (true) with check (true);
create policy gate_select on run_frame_chunks for select to longhaul_gate using (true);
create policy gate_insert on run_frame_chunks for insert to longhaul_gate with check (true);
