-- Instants up to `fires_after` are none of the schedule's: it was made, resumed, or given other times since. Null: of the release before, no bound.
alter table schedules add column fires_after timestamptz(3);

create index schedule_occurrences_nominal_idx on schedule_occurrences (schedule_id, nominal_at desc, id desc);
create index schedule_occurrences_age_idx on schedule_occurrences (created_at);
