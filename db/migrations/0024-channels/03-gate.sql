-- How an address becomes a channel. The definer function belongs to longhaul_gate. A test holds it against the code.
grant select on channels to longhaul_gate;
create policy gate_select on channels for select to longhaul_gate using (true);
grant create on schema public to longhaul_gate;
set local role longhaul_gate;
create or replace function gate_channel(p_channel uuid) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$
  select jsonb_build_object(
    'id', c.id, 'organizationId', c.organization_id, 'workspaceId', c.workspace_id, 'agentId', c.agent_id, 'kind', c.kind, 'settings', c.settings,
    'secretsEnc', encode(c.secrets_enc, 'hex'),
    'dataKey', (select jsonb_build_object('id', k.id, 'organization_id', k.organization_id, 'wrapped', encode(k.wrapped, 'hex'), 'kek_id', k.kek_id)
      from data_keys k where k.organization_id = c.organization_id and replace(k.id::text, '-', '') = encode(substring(c.secrets_enc from 2 for 16), 'hex')),
    'personaSlug', c.persona_slug, 'onBusy', c.on_busy, 'sessionScope', c.session_scope, 'replyTo', c.reply_to, 'allowedSenders', c.allowed_senders,
    'allowedBots', c.allowed_bots, 'feedbackButtons', c.feedback_buttons, 'identity', c.identity, 'nowMs', floor(extract(epoch from clock_timestamp()) * 1000))
   from channels c
   join workspaces w on w.id = c.workspace_id and w.organization_id = c.organization_id
   join organizations o on o.id = c.organization_id
  where c.id = p_channel and c.deleted_at is null and c.is_active and w.is_active and o.status = 'active'
$gate$;
revoke all on function gate_channel(uuid) from public;
grant execute on function gate_channel(uuid) to longhaul_app;
reset role;
revoke create on schema public from longhaul_gate;
