import { lookupFunction, type DefinerFunctions } from '../identity/lookup/lookup-parts.sql.ts';

const functions = ['gate_channel(uuid)'] as const;

const grants: DefinerFunctions['grants'] = {
  channels: ['select'],
  workspaces: ['select'],
  organizations: ['select'],
  data_keys: ['select'],
};

// A chat service has no tenant: the address alone identifies the channel. Secrets are returned encrypted, with their data key, which is encrypted itself.
const sql: readonly string[] = [
  lookupFunction(
    'gate_channel(p_channel uuid)',
    `
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
`,
  ),
];

/** The look-up of the channel of an address, with all that decides about a message to it. */
export const channelFunctions: DefinerFunctions = { functions, grants, sql };
