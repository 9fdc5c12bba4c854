-- Foreign keys: db/tenancy/tenant-keys.ts. Then what app and sweeper may do.

alter table channels add constraint channels_organization_fkey foreign key (organization_id) references organizations(id) deferrable initially deferred;
alter table channels add constraint channels_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id) deferrable initially deferred;
alter table channels add constraint channels_agent_fkey foreign key (agent_id) references agents(id) deferrable initially deferred;
alter table channel_messages add constraint channel_messages_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table channel_messages add constraint channel_messages_channel_organization_fkey foreign key (channel_id, organization_id) references channels(id, organization_id);
alter table channel_messages add constraint channel_messages_run_organization_fkey foreign key (run_id, organization_id) references runs(id, organization_id);
alter table channel_outbound add constraint channel_outbound_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table channel_outbound add constraint channel_outbound_channel_organization_fkey foreign key (channel_id, organization_id) references channels(id, organization_id);
alter table channel_outbound add constraint channel_outbound_run_organization_fkey foreign key (run_id, organization_id) references runs(id, organization_id);

grant select, insert, update, delete on channels to longhaul_app;
grant select, insert, update, delete on channels to longhaul_sweeper;
grant select, insert, update, delete on channel_messages to longhaul_app;
grant select, insert, update, delete on channel_messages to longhaul_sweeper;
grant select, insert, update, delete on channel_outbound to longhaul_app;
grant select, insert, update, delete on channel_outbound to longhaul_sweeper;
