-- The rows that a stored reply shows. Replies that are there are read for them; sealed ones end within a day.
alter table idempotency_keys add column shown_ids uuid[] not null default '{}';
set local role longhaul_sweeper;
update idempotency_keys set shown_ids = array(
  select distinct found[1]::uuid from regexp_matches(convert_from(body, 'UTF8'), '"(?:id|run_id|root_run_id)":"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"', 'g') as found)
where body is not null and body_key_id is null;
reset role;
create index idempotency_keys_shown_idx on idempotency_keys using gin (shown_ids);

grant select, update on idempotency_keys to longhaul_gate;
create policy gate_select on idempotency_keys for select to longhaul_gate using (true);
create policy gate_update on idempotency_keys for update to longhaul_gate using (true) with check (true);

-- A person's own grants to toolkits go with the person.
create index mcp_connections_person_idx on mcp_connections (principal_id) where principal_kind = 'user';
grant select, delete on mcp_connections to longhaul_gate;
create policy gate_select on mcp_connections for select to longhaul_gate using (true);
create policy gate_delete on mcp_connections for delete to longhaul_gate using (true);
grant select, delete on mcp_authorizations to longhaul_gate;
create policy gate_select on mcp_authorizations for select to longhaul_gate using (true);
create policy gate_delete on mcp_authorizations for delete to longhaul_gate using (true);
