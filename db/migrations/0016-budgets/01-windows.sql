-- The currency that a window's costs come in, and the day of the rate that turns them into its own.
alter table budget_windows add column base_currency char(3);
alter table budget_windows add column fx_as_of timestamptz(3);
-- A window outlives its budget: calls in flight settle into it.
alter table budget_windows drop constraint budget_windows_budget_fkey;
-- A sum has more digits than each of what it adds up, as in the rollups: a window that can't take a cost would refuse to settle its call.
alter table budget_windows alter column spent type numeric(30,9), alter column reserved type numeric(30,9);
alter table budget_holds alter column amount type numeric(30,9);
-- In per cent of a limit as small as 10^-9 it is longer still.
alter table alerts alter column value type numeric(44,9);
alter table alert_transitions alter column value type numeric(44,9);
