-- What the definer functions of longhaul_gate need beside what they had.
grant select on impersonations to longhaul_gate;
create policy gate_select on impersonations for select to longhaul_gate using (true);
