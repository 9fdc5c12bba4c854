import { lookupFunction, type DefinerFunctions } from '../identity/lookup/lookup-parts.sql.ts';

const functions = ['gate_hook(uuid, text, bytea[])'] as const;

const grants: DefinerFunctions['grants'] = {
  webhook_endpoints: ['select'],
  webhook_deliveries: ['select'],
  delivery_keys: ['select'],
  workspaces: ['select'],
  organizations: ['select'],
  data_keys: ['select'],
};

// A sender has no tenant: the address alone identifies the endpoint, and this one answer holds everything that decides about a request. Secrets are returned
// encrypted, with their data key, which is encrypted itself.
const sql: readonly string[] = [
  lookupFunction(
    'gate_hook(p_workspace uuid, p_slug text, p_digests bytea[])',
    `
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
`,
  ),
];

/** The look-up of the endpoint of an address, with all that decides about a request to it. */
export const hookFunctions: DefinerFunctions = { functions, grants, sql };
