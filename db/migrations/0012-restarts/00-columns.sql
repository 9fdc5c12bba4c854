-- How often the workflow of a run was started anew because Temporal had lost it.
alter table runs add column workflow_restarts integer not null default 0;
