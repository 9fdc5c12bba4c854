-- Foreign keys: db/tenancy/tenant-keys.ts. Then what app and sweeper may do.

alter table evaluation_runs add constraint evaluation_runs_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table evaluation_items add constraint evaluation_items_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table evaluation_results add constraint evaluation_results_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table evaluation_scores add constraint evaluation_scores_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table evaluation_runs add constraint evaluation_runs_agent_fkey foreign key (agent_id) references agents(id);
alter table evaluation_runs add constraint evaluation_runs_agent_revision_fkey foreign key (agent_revision_id) references agent_revisions(id);
alter table evaluation_runs add constraint evaluation_runs_baseline_organization_fkey foreign key (baseline_id, organization_id) references evaluation_runs(id, organization_id);
alter table evaluation_runs add constraint evaluation_runs_created_by_user_fkey foreign key (created_by_user_id) references users(id);
alter table evaluation_items add constraint evaluation_items_evaluation_run_organization_fkey foreign key (evaluation_run_id, organization_id) references evaluation_runs(id, organization_id);
alter table evaluation_results add constraint evaluation_results_evaluation_run_organization_fkey foreign key (evaluation_run_id, organization_id) references evaluation_runs(id, organization_id);
alter table evaluation_results add constraint evaluation_results_item_organization_fkey foreign key (item_id, organization_id) references evaluation_items(id, organization_id);
alter table evaluation_results add constraint evaluation_results_run_organization_fkey foreign key (run_id, organization_id) references runs(id, organization_id);
alter table evaluation_scores add constraint evaluation_scores_result_organization_fkey foreign key (result_id, organization_id) references evaluation_results(id, organization_id);

grant select, insert, update, delete on evaluation_runs to longhaul_app;
grant select, insert, update, delete on evaluation_runs to longhaul_sweeper;
grant select, insert, update, delete on evaluation_items to longhaul_app;
grant select, insert, update, delete on evaluation_items to longhaul_sweeper;
grant select, insert, update, delete on evaluation_results to longhaul_app;
grant select, insert, update, delete on evaluation_results to longhaul_sweeper;
grant select, insert, update, delete on evaluation_scores to longhaul_app;
grant select, insert, update, delete on evaluation_scores to longhaul_sweeper;
