import type { DefinerFunctions } from '../../identity/lookup/lookup-parts.sql.ts';

const functions = ['gate_review_event(jsonb)'] as const;

const grants: DefinerFunctions['grants'] = {
  repo_bindings: ['select'],
  review_pull_requests: ['select'],
  review_events: ['select', 'insert'],
  workspaces: ['select'],
  organizations: ['select'],
  outbox: ['select', 'insert'],
};

/**
 * Returns SQL that stores an event of the Git host for each binding it concerns, with the message that wakes the workflow of the pull request or the binding,
 * once per delivery. `given` is one jsonb with the event, `bindings` a condition on `b`. Checks of forks name no pull request: theirs is the one with that
 * head.
 */
export function handOverSql(given: string, bindings: string): string {
  return `
  with given as (select * from jsonb_to_record(${given}) as g(
         installation_id bigint, repo_id bigint, pull_number int, is_of_binding boolean, guid text, event text, action text, facts jsonb,
         pull_message jsonb, binding_message jsonb)),
  meant as (
    select b.id, b.organization_id, b.workspace_id, g.guid, g.event, g.action, g.facts, g.is_of_binding, g.pull_message, g.binding_message,
           case when not g.is_of_binding then coalesce(g.pull_number, (
             select p.pull_number from review_pull_requests p where p.binding_id = b.id and p.head_sha = g.facts ->> 'head_sha'
              order by p.updated_at desc limit 1)) end as pull_number
      from given g join repo_bindings b on b.installation_id = g.installation_id and (g.repo_id is null or b.repo_id = g.repo_id)
     where b.deleted_at is null and b.is_active and ${bindings}),
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
    from woken o`;
}

// The deployment's own App reports events in repositories of all tenants to one endpoint: rows of other tenants are written here, and only ids are returned.
const sql: readonly string[] = [
  `create or replace function gate_review_event(p_event jsonb) returns setof uuid
  language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $gate$${handOverSql(
    'p_event',
    `b.app_kind = 'deployment' and exists (select from workspaces w join organizations o on o.id = w.organization_id
       where w.id = b.workspace_id and w.is_active and o.status = 'active')`,
  )} returning id$gate$`,
];

/** Hands an event of the deployment's App over to the bindings of all tenants. */
export const reviewFunctions: DefinerFunctions = { functions, grants, sql };
