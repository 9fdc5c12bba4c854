-- What the hourly sweep looks for.
create index refresh_tokens_expires_idx on refresh_tokens (expires_at);
create index sessions_ended_idx on sessions (coalesce(revoked_at, least(idle_expires_at, expires_at)));
