-- What app and sweeper may do.
grant select, insert, update, delete on alert_deliveries to longhaul_app;
grant select, insert, update, delete on alert_deliveries to longhaul_sweeper;
grant select, insert, update, delete on alert_rules to longhaul_app;
grant select, insert, update, delete on alert_rules to longhaul_sweeper;
grant select, insert, update, delete on alert_states to longhaul_app;
grant select, insert, update, delete on alert_states to longhaul_sweeper;
grant select, insert, update, delete on alert_transitions to longhaul_app;
grant select, insert, update, delete on alert_transitions to longhaul_sweeper;
grant select, insert, update, delete on alerts to longhaul_app;
grant select, insert, update, delete on alerts to longhaul_sweeper;
