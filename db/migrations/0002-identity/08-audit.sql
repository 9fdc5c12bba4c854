-- The audit log as operators read it, and each number of a chain once.

create index audit_entries_time_idx on audit_entries (created_at desc, id desc);
create unique index audit_entries_seq_key on audit_entries (organization_id, seq) nulls not distinct where seq is not null;

-- An entry is numbered when it is sealed, by the sweeper alone.
revoke insert on audit_entries from longhaul_app;
grant insert (id, created_at, organization_id, workspace_id, actor_kind, actor_id, actor_role, acting_user_id, impersonation_id,
  action, resource_type, resource_id, resource_label, outcome, changes, operation_id, correlation_id, ip, user_agent) on audit_entries to longhaul_app;
