-- Foreign keys: db/tenancy/tenant-keys.ts.

alter table oauth_clients add constraint oauth_clients_organization_fkey foreign key (organization_id) references organizations(id) deferrable initially deferred;
alter table invitations add constraint invitations_organization_fkey foreign key (organization_id) references organizations(id) deferrable initially deferred;
alter table impersonations add constraint impersonations_organization_fkey foreign key (organization_id) references organizations(id) deferrable initially deferred;
alter table purges add constraint purges_organization_fkey foreign key (organization_id) references organizations(id) deferrable initially deferred;
alter table secrets add constraint secrets_organization_fkey foreign key (organization_id) references organizations(id) deferrable initially deferred;
alter table oauth_clients add constraint oauth_clients_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id) deferrable initially deferred;
alter table invitations add constraint invitations_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id) deferrable initially deferred;
alter table impersonations add constraint impersonations_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id) deferrable initially deferred;
alter table secrets add constraint secrets_workspace_organization_fkey foreign key (workspace_id, organization_id) references workspaces(id, organization_id) deferrable initially deferred;
alter table recovery_codes add constraint recovery_codes_user_fkey foreign key (user_id) references users(id) deferrable initially deferred;
alter table auth_challenges add constraint auth_challenges_user_fkey foreign key (user_id) references users(id) deferrable initially deferred;
alter table oauth_codes add constraint oauth_codes_user_fkey foreign key (user_id) references users(id) deferrable initially deferred;
alter table invitations add constraint invitations_invited_by_user_fkey foreign key (invited_by_user_id) references users(id) deferrable initially deferred;
alter table invitations add constraint invitations_accepted_user_fkey foreign key (accepted_user_id) references users(id) deferrable initially deferred;
alter table impersonations add constraint impersonations_operator_user_fkey foreign key (operator_user_id) references users(id) deferrable initially deferred;
alter table impersonations add constraint impersonations_target_user_fkey foreign key (target_user_id) references users(id) deferrable initially deferred;
alter table secrets add constraint secrets_tool_fkey foreign key (tool_id) references tools(id) deferrable initially deferred;
alter table secrets add constraint secrets_tool_organization_fkey foreign key (tool_id, organization_id) references tools(id, organization_id) deferrable initially deferred;
alter table secrets add constraint secrets_updated_by_user_fkey foreign key (updated_by_user_id) references users(id) deferrable initially deferred;
