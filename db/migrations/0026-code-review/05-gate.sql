-- How an event of the deployment's App comes to the bindings of all tenants. The definer function belongs to longhaul_gate. A test holds it against the code.
grant select on repo_bindings to longhaul_gate;
create policy gate_select on repo_bindings for select to longhaul_gate using (true);
grant select on review_pull_requests to longhaul_gate;
create policy gate_select on review_pull_requests for select to longhaul_gate using (true);
grant select, insert on review_events to longhaul_gate;
create policy gate_select on review_events for select to longhaul_gate using (true);
create policy gate_insert on review_events for insert to longhaul_gate with check (true);
grant select, insert on outbox to longhaul_gate;
create policy gate_select on outbox for select to longhaul_gate using (true);
create policy gate_insert on outbox for insert to longhaul_gate with check (true);
grant create on schema public to longhaul_gate;
set local role longhaul_gate;
create or replace function gate_review_event(p_event jsonb) returns setof uuid
  language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $gate$
  with given as (select * from jsonb_to_record(p_event) as g(
         installation_id bigint, repo_id bigint, pull_number int, is_of_binding boolean, guid text, event text, action text, facts jsonb,
         pull_message jsonb, binding_message jsonb)),
  meant as (
    select b.id, b.organization_id, b.workspace_id, g.guid, g.event, g.action, g.facts, g.is_of_binding, g.pull_message, g.binding_message,
           case when not g.is_of_binding then coalesce(g.pull_number, (
             select p.pull_number from review_pull_requests p where p.binding_id = b.id and p.head_sha = g.facts ->> 'head_sha'
              order by p.updated_at desc limit 1)) end as pull_number
      from given g join repo_bindings b on b.installation_id = g.installation_id and (g.repo_id is null or b.repo_id = g.repo_id)
     where b.deleted_at is null and b.is_active and b.app_kind = 'deployment' and exists (select from workspaces w join organizations o on o.id = w.organization_id
       where w.id = b.workspace_id and w.is_active and o.status = 'active')),
  written as (
    insert into review_events (id, organization_id, workspace_id, binding_id, pull_number, delivery_guid, event, action, facts)
    select uuidv7(), m.organization_id, m.workspace_id, m.id, m.pull_number, m.guid, m.event, m.action, m.facts
      from meant m where m.is_of_binding or m.pull_number is not null
    on conflict (binding_id, delivery_guid) do nothing
    returning id, organization_id, workspace_id, binding_id, pull_number),
  woken as (
    select w.id, w.organization_id, w.workspace_id,
           case when w.pull_number is null then 'binding-stop:' || w.binding_id else 'review:' || w.binding_id || ':' || w.pull_number end as target,
           case when w.pull_number is null then g.binding_message || jsonb_build_object('args', jsonb_build_array(jsonb_build_object('bindingId', w.binding_id)))
             else g.pull_message || jsonb_build_object('args', jsonb_build_array(jsonb_build_object('bindingId', w.binding_id, 'pullNumber', w.pull_number))) end as message
      from written w, given g)
  insert into outbox (id, organization_id, workspace_id, kind, dedupe_key, target, payload, not_before)
  select uuidv7(), o.organization_id, o.workspace_id, 'workflow.start', o.target || ':' || o.id, o.target,
         o.message || jsonb_build_object('workflowId', o.target, 'organizationId', o.organization_id, 'workspaceId', o.workspace_id), now()
    from woken o returning id$gate$;
revoke all on function gate_review_event(jsonb) from public;
grant execute on function gate_review_event(jsonb) to longhaul_app;
reset role;
revoke create on schema public from longhaul_gate;
