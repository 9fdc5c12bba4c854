-- Foreign keys: db/tenancy/tenant-keys.ts. Then what app and sweeper may do.

alter table webhook_endpoints add constraint webhook_endpoints_organization_fkey foreign key (organization_id) references organizations(id) deferrable initially deferred;
alter table webhook_endpoints add constraint webhook_endpoints_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id) deferrable initially deferred;
alter table endpoint_counters add constraint endpoint_counters_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table webhook_deliveries add constraint webhook_deliveries_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table delivery_keys add constraint delivery_keys_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table webhook_endpoints add constraint webhook_endpoints_agent_fkey foreign key (agent_id) references agents(id) deferrable initially deferred;
alter table endpoint_counters add constraint endpoint_counters_endpoint_organization_fkey foreign key (endpoint_id, organization_id) references webhook_endpoints(id, organization_id);
alter table webhook_deliveries add constraint webhook_deliveries_endpoint_organization_fkey foreign key (endpoint_id, organization_id) references webhook_endpoints(id, organization_id);
alter table delivery_keys add constraint delivery_keys_endpoint_organization_fkey foreign key (endpoint_id, organization_id) references webhook_endpoints(id, organization_id);
alter table webhook_deliveries add constraint webhook_deliveries_run_organization_fkey foreign key (run_id, organization_id) references runs(id, organization_id);
alter table outbound_callbacks add constraint outbound_callbacks_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table events add constraint events_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table outbound_callbacks add constraint outbound_callbacks_endpoint_organization_fkey foreign key (endpoint_id, organization_id) references webhook_endpoints(id, organization_id);
alter table outbound_callbacks add constraint outbound_callbacks_run_organization_fkey foreign key (run_id, organization_id) references runs(id, organization_id);
alter table events add constraint events_cause_run_organization_fkey foreign key (cause_run_id, organization_id) references runs(id, organization_id);

grant select, insert, update, delete on webhook_endpoints to longhaul_app;
grant select, insert, update, delete on webhook_endpoints to longhaul_sweeper;
grant select, insert, update, delete on endpoint_counters to longhaul_app;
grant select, insert, update, delete on endpoint_counters to longhaul_sweeper;
grant select, insert, update, delete on webhook_deliveries to longhaul_app;
grant select, insert, update, delete on webhook_deliveries to longhaul_sweeper;
grant select, insert, update, delete on delivery_keys to longhaul_app;
grant select, insert, update, delete on delivery_keys to longhaul_sweeper;
grant select, insert, update, delete on outbound_callbacks to longhaul_app;
grant select, insert, update, delete on outbound_callbacks to longhaul_sweeper;
grant select, insert, update, delete on events to longhaul_app;
grant select, insert, update, delete on events to longhaul_sweeper;
