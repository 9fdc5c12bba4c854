import type { DefinerFunctions } from '../../identity/lookup/lookup-parts.sql.ts';

const functions = ['gate_erase_knowledge(uuid)'] as const;

const grants: DefinerFunctions['grants'] = { knowledge_grants: ['select', 'delete'], knowledge_bases: ['select', 'update'] };

// A person's own memory may lie in workspaces that the caller who erases the person doesn't see. From here on nothing finds it; a purge removes what it
// holds.
const sql: readonly string[] = [
  `create or replace function gate_erase_knowledge(p_user uuid) returns jsonb
  language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $gate$
  with granted as (
    delete from knowledge_grants where principal_kind = 'user' and principal_id = p_user and (app_operator() or organization_id = app_org())
  ), gone as (
    update knowledge_bases set deleted_at = coalesce(deleted_at, now()), is_frozen = true, version = version + 1, updated_at = now()
     where subject_kind = 'user' and subject_id = p_user::text and (app_operator() or organization_id = app_org()) returning 1)
  select to_jsonb(count(*)) from gone
$gate$`,
];

/** Removes a person's rights to bases, and hides the bases about that person. */
export const knowledgeErasureFunctions: DefinerFunctions = { functions, grants, sql };
