-- Definer functions of this release; they belong to longhaul_gate. A test holds them against the code.

grant create on schema public to longhaul_gate;
set local role longhaul_gate;
create or replace function gate_forget_replies(p_ids uuid[], p_gone jsonb) returns jsonb
  language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $gate$
  with given as (select p_ids as ids), named as (
    select coalesce(array_agg(n.id), '{}') as ids from (
      select unnest(g.ids) as id from given g
      union
      select i.id from given g join users u on u.id = any (g.ids)
        join invitations i on i.organization_id = u.organization_id and (i.email = u.email or i.accepted_user_id = u.id)) n
  ), forgotten as (
    update idempotency_keys k set
      status = case when k.route = '/runs/batch' and k.status = 200 then k.status else 404 end,
      headers = case when k.route = '/runs/batch' and k.status = 200 then k.headers else '{}' end,
      body = case when k.route = '/runs/batch' and k.status = 200 then (
        select convert_to((v || jsonb_build_object('items', jsonb_agg(
            case when item::text ~ ('"(id|run_id|root_run_id)": "(' || array_to_string(n.ids, '|') || ')"')
              then item || jsonb_build_object('run', null, 'error', p_gone) else item end order by at)))::text, 'UTF8')
          from (select convert_from(k.body, 'UTF8')::jsonb as v) whole, jsonb_array_elements(v -> 'items') with ordinality as each (item, at) group by v) end,
      body_key_id = null, state = 'done', lease_until = null
    from named n where k.shown_ids && n.ids and (app_operator() or k.organization_id = app_org() or k.organization_id is null)
    returning 1)
  select to_jsonb(count(*)) from forgotten
$gate$;
create or replace function gate_erase_connections(p_user uuid) returns jsonb
  language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $gate$
  with own as (
    select c.id from mcp_connections c
     where c.principal_kind = 'user' and c.principal_id = p_user and (app_operator() or c.organization_id = app_org())
  ), asked as (
    delete from mcp_authorizations where connection_id in (select id from own)
  ), gone as (
    delete from mcp_connections where id in (select id from own) returning 1)
  select to_jsonb(count(*)) from gone
$gate$;
revoke all on function gate_forget_replies(uuid[], jsonb) from public;
revoke all on function gate_erase_connections(uuid) from public;
grant execute on function gate_forget_replies(uuid[], jsonb) to longhaul_app;
grant execute on function gate_erase_connections(uuid) to longhaul_app;
reset role;
revoke create on schema public from longhaul_gate;
