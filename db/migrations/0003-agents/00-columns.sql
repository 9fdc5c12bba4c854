-- Columns of tables that were there before.
alter table totp_factors add column last_step bigint;
alter table tools add column is_idempotent boolean not null default false;
alter table tools add column remote_hash text;
alter table tool_versions add column toolkit_revision_id uuid;
