-- Foreign keys: db/tenancy/tenant-keys.ts.

alter table approvals add constraint approvals_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table run_inputs add constraint run_inputs_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table bulk_cancels add constraint bulk_cancels_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table feedback add constraint feedback_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table budgets add constraint budgets_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table budget_windows add constraint budget_windows_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table budget_holds add constraint budget_holds_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table approvals add constraint approvals_run_organization_fkey foreign key (run_id, organization_id) references runs(id, organization_id);
alter table approvals add constraint approvals_root_run_organization_fkey foreign key (root_run_id, organization_id) references runs(id, organization_id);
alter table approvals add constraint approvals_tool_call_fkey foreign key (tool_call_id) references tool_calls(id);
alter table run_inputs add constraint run_inputs_run_organization_fkey foreign key (run_id, organization_id) references runs(id, organization_id);
alter table feedback add constraint feedback_run_organization_fkey foreign key (run_id, organization_id) references runs(id, organization_id);
alter table budget_windows add constraint budget_windows_budget_fkey foreign key (budget_id) references budgets(id);
alter table budget_holds add constraint budget_holds_window_fkey foreign key (window_id) references budget_windows(id);
