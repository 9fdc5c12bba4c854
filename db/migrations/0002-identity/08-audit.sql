-- The audit log as operators read it, and each number of a chain once.

create index audit_entries_time_idx on audit_entries (created_at desc, id desc);
create unique index audit_entries_seq_key on audit_entries (organization_id, seq) nulls not distinct where seq is not null;
