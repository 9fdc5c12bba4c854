import { defineEntity, p } from '@mikro-orm/core';
import { channelPartKinds, channelPartStates } from '../../workflows/contracts/triggers/channels.ts';
import { createdAtColumn, idColumn, timeColumn, updatedAtColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'ChannelOutbound',
  tableName: 'channel_outbound',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('channel_outbound', 'tenant'),
  indexes: [
    ...tenantIndexes('channel_outbound'),
    uniqueIndex('channel_outbound', 'part', '(message_id, kind, part)'),
    index('channel_outbound', 'run', '(run_id) where run_id is not null'),
    index('channel_outbound', 'open', "(channel_id, thread_id, created_at) where state in ('pending', 'sending')"),
    index('channel_outbound', 'failed', "(organization_id, updated_at) where state = 'failed'"),
    index('channel_outbound', 'age', '(created_at)'),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    channelId: uuidColumn(),
    /** The message that it answers. There is no foreign key: both are deleted by age. */
    messageId: uuidColumn(),
    /** Null: the message could not start a run. */
    runId: uuidColumn().strictNullable(),
    threadId: p.text(),
    kind: p.enum(channelPartKinds),
    /**
     * For a reply its number from 0 on, for its files from 10,000 on; for a notice the number of the question that it asks, or the second since 1970 in which
     * the wait it reports began, or 0 for an end.
     */
    part: p.integer(),
    /** Markdown; null: the answer is not split yet. */
    text: p.text().strictNullable(),
    /** The same in the service's own form. */
    rendered: p.text().strictNullable(),
    state: p.enum(channelPartStates).default('pending'),
    /** The service has refused its markup: it is sent as plain text. */
    isPlain: p.boolean().default(false),
    /** The service's id of it; set before it is sent where its draft is already in the thread. */
    externalId: p.text().strictNullable(),
    attempts: p.integer().default(0),
    /** Attempts that failed for reasons other than a rate limit. */
    failures: p.integer().default(0),
    lastError: p.text().strictNullable(),
    nextAttemptAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** One message that a channel sends into a thread. */
export class ChannelOutbound extends schema.class {}
schema.setClass(ChannelOutbound);
