-- Foreign keys: db/tenancy/tenant-keys.ts. Then what app and sweeper may do.

alter table event_triggers add constraint event_triggers_organization_fkey foreign key (organization_id) references organizations(id) deferrable initially deferred;
alter table event_triggers add constraint event_triggers_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id) deferrable initially deferred;
alter table event_triggers add constraint event_triggers_agent_fkey foreign key (agent_id) references agents(id) deferrable initially deferred;
alter table event_triggers add constraint event_triggers_created_by_user_fkey foreign key (created_by_user_id) references users(id) deferrable initially deferred;
alter table event_trigger_counters add constraint event_trigger_counters_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table event_trigger_counters add constraint event_trigger_counters_trigger_organization_fkey foreign key (trigger_id, organization_id) references event_triggers(id, organization_id);
alter table event_matches add constraint event_matches_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table event_matches add constraint event_matches_event_fkey foreign key (event_id) references events(id) on delete cascade;
alter table event_matches add constraint event_matches_trigger_organization_fkey foreign key (trigger_id, organization_id) references event_triggers(id, organization_id);
alter table event_matches add constraint event_matches_run_organization_fkey foreign key (run_id, organization_id) references runs(id, organization_id);
alter table event_keys add constraint event_keys_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);

grant select, insert, update, delete on event_triggers to longhaul_app;
grant select, insert, update, delete on event_triggers to longhaul_sweeper;
grant select, insert, update, delete on event_trigger_counters to longhaul_app;
grant select, insert, update, delete on event_trigger_counters to longhaul_sweeper;
grant select, insert, update, delete on event_matches to longhaul_app;
grant select, insert, update, delete on event_matches to longhaul_sweeper;
grant select, insert, update, delete on event_keys to longhaul_app;
grant select, insert, update, delete on event_keys to longhaul_sweeper;
