-- What becomes of a person's rights and memory with the person. The definer function belongs to longhaul_gate. A test holds it against the code.
grant select, delete on knowledge_grants to longhaul_gate;
create policy gate_select on knowledge_grants for select to longhaul_gate using (true);
create policy gate_delete on knowledge_grants for delete to longhaul_gate using (true);
grant update on knowledge_bases to longhaul_gate;
create policy gate_update on knowledge_bases for update to longhaul_gate using (true) with check (true);
grant create on schema public to longhaul_gate;
set local role longhaul_gate;
create or replace function gate_erase_knowledge(p_user uuid) returns jsonb
  language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $gate$
  with granted as (
    delete from knowledge_grants where principal_kind = 'user' and principal_id = p_user and (app_operator() or organization_id = app_org())
  ), gone as (
    update knowledge_bases set deleted_at = coalesce(deleted_at, now()), is_frozen = true, version = version + 1, updated_at = now()
     where subject_kind = 'user' and subject_id = p_user::text and (app_operator() or organization_id = app_org()) returning 1)
  select to_jsonb(count(*)) from gone
$gate$;
revoke all on function gate_erase_knowledge(uuid) from public;
grant execute on function gate_erase_knowledge(uuid) to longhaul_app;
reset role;
revoke create on schema public from longhaul_gate;
