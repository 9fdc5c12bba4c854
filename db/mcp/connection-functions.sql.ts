import type { DefinerFunctions } from '../identity/lookup/lookup-parts.sql.ts';

const functions = ['gate_erase_connections(uuid)'] as const;

const grants: DefinerFunctions['grants'] = { mcp_connections: ['select', 'delete'], mcp_authorizations: ['select', 'delete'] };

// A person's own grants may belong to toolkits that the erasing caller doesn't see. Returns how many there were.
const sql: readonly string[] = [
  `create or replace function gate_erase_connections(p_user uuid) returns jsonb
  language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $gate$
  with own as (
    select c.id from mcp_connections c
     where c.principal_kind = 'user' and c.principal_id = p_user and (app_operator() or c.organization_id = app_org())
  ), asked as (
    delete from mcp_authorizations where connection_id in (select id from own)
  ), gone as (
    delete from mcp_connections where id in (select id from own) returning 1)
  select to_jsonb(count(*)) from gone
$gate$`,
];

/** Ends the grants that a person has given to toolkits. */
export const connectionFunctions: DefinerFunctions = { functions, grants, sql };
