-- A window counts in its own currency, of which one unit of the billing currency may be worth a hundred thousand: what is spent has room for that.
alter table budget_windows alter column spent type numeric(30,9), alter column reserved type numeric(30,9);
alter table budget_holds alter column amount type numeric(30,9);
-- In per cent of a limit as small as 10^-9 it is longer still.
alter table alerts alter column value type numeric(44,9);
alter table alert_transitions alter column value type numeric(44,9);
