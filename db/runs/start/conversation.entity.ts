import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, uuidColumn } from '../../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const subjectKinds = ['user', 'guest'] as const;

const schema = defineEntity({
  name: 'Conversation',
  tableName: 'conversations',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('conversations', 'tenant'),
  indexes: [
    ...tenantIndexes('conversations'),
    uniqueIndex(
      'conversations',
      'session',
      '(workspace_id, agent_id, subject_kind, subject_id, session_key) nulls not distinct where session_key is not null',
    ),
    index('conversations', 'stuck', '(id) where active_run_id is null and queue_length > 0'),
  ],
  uniques: [{ name: 'conversations_tenant_key', properties: ['id', 'organizationId'] }],
  checks: [{ name: 'conversations_queue_bounds', expression: 'queue_length >= 0 and queue_length <= 20' }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    agentId: uuidColumn(),
    subjectKind: p.enum(subjectKinds).strictNullable(),
    subjectId: p.text().strictNullable(),
    sessionKey: p.text().strictNullable(),
    personaSlug: p.text().strictNullable(),
    activeRunId: uuidColumn().strictNullable(),
    queueLength: p.integer().default(0),
    nextQueueNo: p.integer().default(1),
    turnNo: p.integer().default(0),
    createdAt: createdAtColumn(),
  },
});

/** The conversation that the runs of one session key share, with the queue in which they wait for each other. */
export class Conversation extends schema.class {}
schema.setClass(Conversation);
