-- The call of a try that has left for its provider and is not settled yet: whoever takes the step over settles it, should the worker be lost.
alter table run_steps add column in_flight jsonb;
create index run_steps_in_flight_idx on run_steps (run_id) where in_flight is not null;
