import { defineEntity, p } from '@mikro-orm/core';
import type { ChannelFile, ChannelRoute } from '../../workflows/contracts/triggers/channels.ts';
import { createdAtColumn, idColumn, jsonColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

/** `received`: a run has it; `ignored`: no answer was due; `failed`: no run could be started. */
export const channelMessageStatuses = ['received', 'ignored', 'failed'] as const;

/** A file of a message, and the attachment that it becomes. */
export interface StoredChannelFile extends ChannelFile {
  readonly attachmentId: string;
}

const schema = defineEntity({
  name: 'ChannelMessage',
  tableName: 'channel_messages',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('channel_messages', 'tenant'),
  indexes: [
    ...tenantIndexes('channel_messages'),
    index('channel_messages', 'channel', '(channel_id, id desc)'),
    uniqueIndex('channel_messages', 'external', '(channel_id, external_id)'),
    index('channel_messages', 'thread', '(channel_id, thread_id, id desc)'),
    index('channel_messages', 'run', '(run_id) where run_id is not null'),
    index('channel_messages', 'age', '(created_at)'),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    channelId: uuidColumn(),
    /** The service's own id of it, which identifies a repeat. */
    externalId: p.text(),
    threadId: p.text(),
    senderId: p.text(),
    senderName: p.text().strictNullable(),
    isBot: p.boolean().default(false),
    text: p.text(),
    attachments: jsonColumn<StoredChannelFile[]>(() => []),
    /** Where an answer goes. */
    route: p.json<ChannelRoute>(),
    /** The token that the service requires with an answer, where it is secret: AES-256-GCM, bound to table and id. */
    tokenEnc: p.blob().$type<Buffer>().strictNullable(),
    runId: uuidColumn().strictNullable(),
    status: p.enum(channelMessageStatuses),
    reason: p.text().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** One message received by a channel. */
export class ChannelMessage extends schema.class {}
schema.setClass(ChannelMessage);
