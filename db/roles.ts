/** The four database roles. None is a superuser or may bypass policies. */
export const databaseRoles = ['longhaul_owner', 'longhaul_app', 'longhaul_sweeper', 'longhaul_gate'] as const;
export type DatabaseRole = (typeof databaseRoles)[number];

/** Those that log in: the gate's functions run as it, nobody connects as it. */
export const loginRoles = ['longhaul_owner', 'longhaul_app', 'longhaul_sweeper'] as const satisfies readonly DatabaseRole[];
export type LoginRole = (typeof loginRoles)[number];

/** What longhaul_app may not do on a table beside what policies refuse; every other table is select, insert, update, delete. */
export const appGrants: Readonly<Record<string, string | undefined>> = {
  usage_entries: 'select, insert',
  usage_rollups: 'select, insert, update',
  // All but seq and seal_no: an entry is numbered when it is sealed, by the sweeper.
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
  // Inserted are only those of one first frame, says the policy.
  run_frame_chunks: 'select, insert, delete',
};
