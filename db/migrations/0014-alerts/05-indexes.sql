-- What alert rules measure.
create index runs_finished_idx on runs (organization_id, finished_at) where finished_at is not null;
create index schedule_occurrences_missed_idx on schedule_occurrences (organization_id, created_at) where status = 'missed';
