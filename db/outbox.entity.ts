import { defineEntity, p } from '@mikro-orm/core';
import type { OutboxMessage } from '../workflows/contracts/outbox.ts';
import { createdAtColumn, idColumn, timeColumn, writtenAtColumn, uuidColumn } from './columns.ts';
import { index, uniqueIndex } from './indexes.ts';
import { tenantPolicies } from './policies.ts';

const schema = defineEntity({
  name: 'OutboxEntry',
  tableName: 'outbox',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('outbox', 'open'),
  indexes: [
    uniqueIndex('outbox', 'dedupe', '(kind, dedupe_key)'),
    index('outbox', 'due', '(not_before) where sent_at is null'),
    index('outbox', 'mails', "(created_at) where kind = 'mail' and payload -> 'settled' is null"),
    index('outbox', 'sent', '(sent_at) where sent_at is not null'),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    kind: p.text(),
    dedupeKey: p.text(),
    /** Workflow id, or whatever a message of this kind addresses. */
    target: p.text(),
    payload: p.json<OutboxMessage>(),
    notBefore: writtenAtColumn(),
    attempts: p.integer().default(0),
    lastError: p.text().strictNullable(),
    sentAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** A message that leaves the process after the commit; the committing process sends it, otherwise the outbox relay does. */
export class OutboxEntry extends schema.class {}
schema.setClass(OutboxEntry);
