-- Foreign keys: db/tenancy/tenant-keys.ts.

alter table alert_rules add constraint alert_rules_organization_fkey foreign key (organization_id) references organizations(id) deferrable initially deferred;
alter table alerts add constraint alerts_organization_fkey foreign key (organization_id) references organizations(id);
alter table alert_rules add constraint alert_rules_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id) deferrable initially deferred;
alter table alert_states add constraint alert_states_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table alerts add constraint alerts_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table alert_transitions add constraint alert_transitions_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table alert_deliveries add constraint alert_deliveries_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id);
alter table alert_rules add constraint alert_rules_agent_fkey foreign key (agent_id) references agents(id) deferrable initially deferred;
alter table alert_states add constraint alert_states_rule_organization_fkey foreign key (rule_id, organization_id) references alert_rules(id, organization_id);
alter table alerts add constraint alerts_rule_organization_fkey foreign key (rule_id, organization_id) references alert_rules(id, organization_id);
alter table alert_transitions add constraint alert_transitions_alert_organization_fkey foreign key (alert_id, organization_id) references alerts(id, organization_id);
alter table alert_deliveries add constraint alert_deliveries_rule_organization_fkey foreign key (rule_id, organization_id) references alert_rules(id, organization_id);
alter table alert_deliveries add constraint alert_deliveries_alert_organization_fkey foreign key (alert_id, organization_id) references alerts(id, organization_id);
