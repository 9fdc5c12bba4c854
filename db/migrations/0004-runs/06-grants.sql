-- What app and sweeper may do.
grant select, insert, update, delete on approvals to longhaul_app;
grant select, insert, update, delete on approvals to longhaul_sweeper;
grant select, insert, update, delete on budget_holds to longhaul_app;
grant select, insert, update, delete on budget_holds to longhaul_sweeper;
grant select, insert, update, delete on budget_windows to longhaul_app;
grant select, insert, update, delete on budget_windows to longhaul_sweeper;
grant select, insert, update, delete on budgets to longhaul_app;
grant select, insert, update, delete on budgets to longhaul_sweeper;
grant select, insert, update, delete on bulk_cancels to longhaul_app;
grant select, insert, update, delete on bulk_cancels to longhaul_sweeper;
grant select, insert, update, delete on feedback to longhaul_app;
grant select, insert, update, delete on feedback to longhaul_sweeper;
grant select, insert, update, delete on run_inputs to longhaul_app;
grant select, insert, update, delete on run_inputs to longhaul_sweeper;
