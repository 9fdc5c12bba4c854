-- How an address becomes an endpoint. The definer function belongs to longhaul_gate. A test holds it against the code.
grant select on webhook_endpoints to longhaul_gate;
create policy gate_select on webhook_endpoints for select to longhaul_gate using (true);
grant select on webhook_deliveries to longhaul_gate;
create policy gate_select on webhook_deliveries for select to longhaul_gate using (true);
grant select on delivery_keys to longhaul_gate;
create policy gate_select on delivery_keys for select to longhaul_gate using (true);
grant select on data_keys to longhaul_gate;
create policy gate_select on data_keys for select to longhaul_gate using (true);
grant create on schema public to longhaul_gate;
set local role longhaul_gate;
create or replace function gate_hook(p_workspace uuid, p_slug text, p_digests bytea[]) returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$
  select jsonb_build_object(
    'id', e.id, 'organizationId', e.organization_id, 'workspaceId', e.workspace_id, 'agentId', e.agent_id, 'slug', e.slug, 'httpMethod', e.http_method,
    'verification', e.verification, 'secretsEnc', encode(e.secrets_enc, 'hex'), 'hasOverlap', coalesce(e.secret_overlap_until > clock_timestamp(), false),
    'dataKey', (select jsonb_build_object('id', k.id, 'organization_id', k.organization_id, 'wrapped', encode(k.wrapped, 'hex'), 'kek_id', k.kek_id)
      from data_keys k where k.organization_id = e.organization_id and replace(k.id::text, '-', '') = encode(substring(e.secrets_enc from 2 for 16), 'hex')),
    'promptTemplate', e.prompt_template, 'inputTemplate', e.input_template, 'sessionKeyTemplate', e.session_key_template,
    'personaSlugTemplate', e.persona_slug_template, 'subjectTemplate', e.subject_template, 'responseMode', e.response_mode, 'responsePath', e.response_path,
    'eventKind', e.event_kind, 'coalescing', e.coalescing, 'rateLimitPerMinute', e.rate_limit_per_minute, 'unverifiedAck', e.unverified_ack,
    'seenDeliveryId', (select d.delivery_id from delivery_keys d
      where d.endpoint_id = e.id and d.digest = any (p_digests) and d.expires_at > clock_timestamp() limit 1),
    'rejectedLately', (select count(*) from webhook_deliveries r
      where r.endpoint_id = e.id and r.status = 'rejected' and r.received_at > clock_timestamp() - interval '1 hour'),
    'nowMs', floor(extract(epoch from clock_timestamp()) * 1000))
   from webhook_endpoints e
   join workspaces w on w.id = e.workspace_id and w.organization_id = e.organization_id
   join organizations o on o.id = e.organization_id
  where e.workspace_id = p_workspace and e.slug = p_slug and e.deleted_at is null and e.is_active and w.is_active and o.status = 'active'
$gate$;
revoke all on function gate_hook(uuid, text, bytea[]) from public;
grant execute on function gate_hook(uuid, text, bytea[]) to longhaul_app;
reset role;
revoke create on schema public from longhaul_gate;
