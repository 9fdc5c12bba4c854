-- The session that asked for a change of address or approved a code: both end with it.
alter table auth_challenges add column session_id uuid;
alter table oauth_codes add column approver_session_id uuid;
