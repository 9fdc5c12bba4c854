import type { DefinerFunctions } from '../identity/lookup/lookup-parts.sql.ts';

/**
 * Returns SQL of one statement that erases the stored replies which show rows, by their ids; it returns how many. `ids` is an array of uuids, `gone` the error
 * (jsonb) that replaces a run in the reply to a batch, `own` the condition on the key `k`. Invitations of a person are erased with the person. A key stays
 * used, and a repeat is 404.
 */
export function forgetSql({ ids, gone, own }: { readonly ids: string; readonly gone: string; readonly own: string }): string {
  return `
  with given as (select ${ids} as ids), named as (
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
              then item || jsonb_build_object('run', null, 'error', ${gone}) else item end order by at)))::text, 'UTF8')
          from (select convert_from(k.body, 'UTF8')::jsonb as v) whole, jsonb_array_elements(v -> 'items') with ordinality as each (item, at) group by v) end,
      body_key_id = null, state = 'done', lease_until = null
    from named n where k.shown_ids && n.ids and ${own}
    returning 1)
  select to_jsonb(count(*)) from forgotten
`;
}

const functions = ['gate_forget_replies(uuid[], jsonb)'] as const;

const grants: DefinerFunctions['grants'] = { idempotency_keys: ['select', 'update'], invitations: ['select'], users: ['select'] };

const own = '(app_operator() or k.organization_id = app_org() or k.organization_id is null)';

// The caller of the stored request may belong to a workspace that the erasing caller doesn't see; operators' requests belong to no organization.
const sql: readonly string[] = [
  `create or replace function gate_forget_replies(p_ids uuid[], p_gone jsonb) returns jsonb
  language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $gate$${forgetSql({ ids: 'p_ids', gone: 'p_gone', own })}$gate$`,
];

export const idempotencyFunctions: DefinerFunctions = { functions, grants, sql };
