/** The four database roles. None is a superuser or may bypass policies. */
export const databaseRoles = ['longhaul_owner', 'longhaul_app', 'longhaul_sweeper', 'longhaul_gate'] as const;
export type DatabaseRole = (typeof databaseRoles)[number];

/** The roles that log in. The definer functions run as the gate role, and no connection uses it. */
export const loginRoles = ['longhaul_owner', 'longhaul_app', 'longhaul_sweeper'] as const satisfies readonly DatabaseRole[];
export type LoginRole = (typeof loginRoles)[number];

/** The rights of longhaul_app on tables where policies alone do not restrict it enough; on every other table it may select, insert, update and delete. */
export const appGrants: Readonly<Record<string, string | undefined>> = {
  usage_entries: 'select, insert',
  usage_rollups: 'select, insert, update',
  // All columns but seq and seal_no: the sweeper numbers an entry when it seals it.
  audit_entries: `select, insert (id, created_at, organization_id, workspace_id, actor_kind, actor_id, actor_role, acting_user_id, impersonation_id,
    action, resource_type, resource_id, resource_label, outcome, changes, operation_id, correlation_id, ip, user_agent)`,
  audit_seals: 'select',
  agent_revisions: 'select, insert',
  tool_versions: 'select, insert',
  persona_versions: 'select, insert, delete',
  skill_versions: 'select, insert',
  knowledge_item_versions: 'select, insert, delete',
  review_playbook_revisions: 'select, insert',
  data_keys: 'select, insert',
  run_streams: 'select, insert, delete, update (cancel_requested, updated_at)',
  run_stream_scopes: 'select, delete',
  // The policy only allows the insert of a run's one first frame.
  run_frame_chunks: 'select, insert, delete',
};
