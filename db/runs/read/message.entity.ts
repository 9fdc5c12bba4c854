import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, uuidArrayColumn, uuidColumn } from '../../columns.ts';
import { index, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';
import type { ContentBlock } from '../run-types.ts';

export const messageRoles = ['user', 'assistant', 'tool', 'system'] as const;
export const messageOrigins = ['user', 'model', 'system', 'injected'] as const;
export const messageStates = ['pending', 'committed', 'discarded'] as const;
export const stopReasons = ['stop', 'tool_calls', 'max_output', 'refused', 'cancelled', 'error'] as const;

const schema = defineEntity({
  name: 'Message',
  tableName: 'messages',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('messages', 'tenant'),
  indexes: [
    uniqueIndex('messages', 'position', '(run_id, pos)'),
    index('messages', 'history', "(conversation_id, turn, pos) where state = 'committed'"),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    conversationId: uuidColumn(),
    runId: uuidColumn(),
    turn: p.integer(),
    pos: p.integer(),
    step: p.integer().strictNullable(),
    role: p.enum(messageRoles),
    origin: p.enum(messageOrigins),
    content: p.json<ContentBlock[]>(),
    toolCallIds: uuidArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    toolCallId: uuidColumn().strictNullable(),
    model: p.text().strictNullable(),
    stopReason: p.enum(stopReasons).strictNullable(),
    state: p.enum(messageStates),
    /** Opaque data that the provider wants back within the turn (signatures, encrypted reasoning). It appears in no view and is erased by purge. */
    providerState: p.json<Record<string, unknown>>().strictNullable(),
    attempt: p.integer().default(1),
    createdAt: createdAtColumn(),
  },
});

/** One message of a conversation; `pos` counts within the run, `turn` orders the runs. */
export class Message extends schema.class {}
schema.setClass(Message);
