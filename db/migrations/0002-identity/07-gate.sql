-- What the definer functions of longhaul_gate need beside what they had.
grant delete on workspace_grants to longhaul_gate;
create policy gate_delete on workspace_grants for delete to longhaul_gate using (true);
grant update on sessions to longhaul_gate;
create policy gate_update on sessions for update to longhaul_gate using (true) with check (true);
grant select on auth_challenges to longhaul_gate;
create policy gate_select on auth_challenges for select to longhaul_gate using (true);
grant update on service_keys to longhaul_gate;
create policy gate_update on service_keys for update to longhaul_gate using (true) with check (true);
grant select on impersonations to longhaul_gate;
create policy gate_select on impersonations for select to longhaul_gate using (true);
grant select on oauth_clients to longhaul_gate;
create policy gate_select on oauth_clients for select to longhaul_gate using (true);
grant select on oauth_codes to longhaul_gate;
create policy gate_select on oauth_codes for select to longhaul_gate using (true);
grant select on invitations to longhaul_gate;
create policy gate_select on invitations for select to longhaul_gate using (true);
grant delete on invitations to longhaul_gate;
create policy gate_delete on invitations for delete to longhaul_gate using (true);
