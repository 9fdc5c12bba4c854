-- What of its source a revision has no tool for, and why; at most 200 are told.
alter table toolkit_revisions add column left_out jsonb not null default '[]';
alter table toolkit_revisions add column left_out_count integer not null default 0;
