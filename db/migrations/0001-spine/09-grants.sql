-- longhaul_app owns nothing and may do what its policies let it; append tables know neither update nor delete.
grant select, insert, update, delete on agent_refs to longhaul_app;
grant select, insert on agent_revisions to longhaul_app;
grant select, insert, update, delete on agents to longhaul_app;
grant select, insert on audit_entries to longhaul_app;
grant select, insert, update, delete on conversations to longhaul_app;
grant select, insert on data_keys to longhaul_app;
grant select, insert, update, delete on idempotency_keys to longhaul_app;
grant select, insert, update, delete on login_failures to longhaul_app;
grant select, insert, update, delete on messages to longhaul_app;
grant select, insert, update, delete on model_prices to longhaul_app;
grant select, insert, update, delete on organization_settings to longhaul_app;
grant select, insert, update, delete on organizations to longhaul_app;
grant select, insert, update, delete on outbox to longhaul_app;
grant select, insert, update, delete on refresh_tokens to longhaul_app;
grant select, delete on run_frame_chunks to longhaul_app;
grant select, insert, update, delete on run_steps to longhaul_app;
grant select, delete on run_stream_scopes to longhaul_app;
grant select, insert, delete, update (cancel_requested, updated_at) on run_streams to longhaul_app;
grant select, insert, update, delete on runs to longhaul_app;
grant select, insert, update, delete on service_keys to longhaul_app;
grant select, insert, update, delete on sessions to longhaul_app;
grant select, insert, update, delete on signing_keys to longhaul_app;
grant select, insert, update, delete on stream_tokens to longhaul_app;
grant select, insert, update, delete on system_marks to longhaul_app;
grant select, insert, update, delete on tool_calls to longhaul_app;
grant select, insert, update, delete on tool_outputs to longhaul_app;
grant select, insert on tool_versions to longhaul_app;
grant select, insert, update, delete on tools to longhaul_app;
grant select, insert, update, delete on totp_factors to longhaul_app;
grant select, insert on usage_entries to longhaul_app;
grant select, insert, update, delete on user_credentials to longhaul_app;
grant select, insert, update, delete on users to longhaul_app;
grant select, insert, update, delete on workspace_grants to longhaul_app;
grant select, insert, update, delete on workspaces to longhaul_app;

-- longhaul_sweeper passes every policy; the ledger is never changed by anybody.
grant select, insert, update, delete on all tables in schema public to longhaul_sweeper;
revoke update, delete on usage_entries from longhaul_sweeper;
revoke all on schema_migrations from longhaul_sweeper;
grant select on schema_migrations to longhaul_app, longhaul_sweeper;

-- longhaul_gate: what its definer functions need.
grant select on users to longhaul_gate;
grant select on user_credentials to longhaul_gate;
grant select on organizations to longhaul_gate;
grant select on organization_settings to longhaul_gate;
grant select on workspaces to longhaul_gate;
grant select on workspace_grants to longhaul_gate;
grant select on sessions to longhaul_gate;
grant select on refresh_tokens to longhaul_gate;
grant select on totp_factors to longhaul_gate;
grant select on service_keys to longhaul_gate;
grant select, update on stream_tokens to longhaul_gate;
grant select, update on run_streams to longhaul_gate;
grant select, insert, update, delete on run_stream_scopes to longhaul_gate;
grant select, insert on run_frame_chunks to longhaul_gate;
