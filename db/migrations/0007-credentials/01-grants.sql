-- A grant hangs on a user of its own organization. One that names another opened nothing, and goes.

alter table users add constraint users_tenant_key unique (id, organization_id);
set local role longhaul_sweeper;
delete from workspace_grants g where not exists (select from users u where u.id = g.user_id and u.organization_id = g.organization_id);
reset role;
alter table workspace_grants drop constraint workspace_grants_user_fkey;
alter table workspace_grants add constraint workspace_grants_user_organization_fkey foreign key (user_id, organization_id) references users(id, organization_id) deferrable initially deferred;
