import { defineEntity, p } from '@mikro-orm/core';
import {
  channelKinds,
  channelStates,
  replyRules,
  sessionScopes,
  type ChannelIdentity,
  type ChannelSettings,
} from '../../workflows/contracts/triggers/channels.ts';
import { createdAtColumn, idColumn, jsonColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../columns.ts';
import { index, tenantIndexes } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

/** What a channel does with a message while a run of its thread is active. */
export const channelBusyRules = ['enqueue', 'interrupt', 'steer'] as const;

const schema = defineEntity({
  name: 'Channel',
  tableName: 'channels',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('channels', 'tenant'),
  indexes: [
    ...tenantIndexes('channels'),
    index('channels', 'agent', '(agent_id)'),
    index('channels', 'workspace', '(workspace_id) where deleted_at is null'),
  ],
  uniques: [{ name: 'channels_tenant_key', properties: ['id', 'organizationId'] }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    agentId: uuidColumn(),
    kind: p.enum(channelKinds),
    name: p.text(),
    settings: p.json<ChannelSettings>(),
    /** AES-256-GCM, bound to table and id: a JSON object, name to secret. */
    secretsEnc: p.blob().$type<Buffer>().strictNullable(),
    secretNames: jsonColumn<string[]>(() => []),
    personaSlug: p.text().strictNullable(),
    onBusy: p.enum(channelBusyRules).default('enqueue'),
    sessionScope: p.enum(sessionScopes).default('thread'),
    replyTo: p.enum(replyRules).default('mentions'),
    allowedSenders: jsonColumn<string[]>(() => []),
    allowedBots: jsonColumn<string[]>(() => []),
    streaming: p.boolean().default(true),
    feedbackButtons: p.boolean().default(false),
    isActive: p.boolean().default(true),
    state: p.enum(channelStates).default('pending'),
    lastError: p.text().strictNullable(),
    /** The service's identity of the bot; null: not asked yet. */
    identity: p.json<ChannelIdentity>().strictNullable(),
    /** The version of the row that was last registered with the service (address of a bot's messages, command). */
    syncedVersion: p.integer().default(0),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    deletedAt: timeColumn().strictNullable(),
  },
});

/** A chat service in which people talk to an agent. */
export class Channel extends schema.class {}
schema.setClass(Channel);
