-- By which credential an invitation was made, and when nobody vouched for it any more. Those that wait were made by whoever they name.

alter table invitations
  add column credential_kind text,
  add column credential_id uuid,
  add column unvouched_at timestamptz(3),
  add constraint invitations_credential_kind_check check (credential_kind in ('service_key', 'oauth_grant', 'oauth_client')),
  add constraint invitations_credential check ((credential_kind is null) = (credential_id is null));
grant update on impersonations to longhaul_gate;
create policy gate_update on impersonations for update to longhaul_gate using (true) with check (true);
