-- Retention finds runs past their days, and none of those that it has erased before.
create index runs_retention_idx on runs (organization_id, finished_at, id) where parent_run_id is null and deleted_at is null and finished_at is not null;
