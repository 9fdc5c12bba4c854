import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, jsonColumn, uuidColumn } from '../../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';
import type { ReviewFacts } from '../pulls/facts.ts';

export const reviewEventStates = ['queued', 'applied', 'ignored'] as const;

const schema = defineEntity({
  name: 'ReviewEvent',
  tableName: 'review_events',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('review_events', 'tenant'),
  indexes: [
    ...tenantIndexes('review_events'),
    uniqueIndex('review_events', 'delivery', '(binding_id, delivery_guid)'),
    index('review_events', 'queued', "(binding_id, pull_number, id) where state = 'queued'"),
    index('review_events', 'age', '(created_at)'),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    bindingId: uuidColumn(),
    /** Null: it concerns the repository or the installation. */
    pullNumber: p.integer().strictNullable(),
    /** The host's `X-GitHub-Delivery`. */
    deliveryGuid: p.text(),
    event: p.text(),
    action: p.text().strictNullable(),
    facts: jsonColumn<ReviewFacts>(() => ({})),
    state: p.enum(reviewEventStates).default('queued'),
    reason: p.text().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** A delivery of the host, as it concerns one binding. */
export class ReviewEvent extends schema.class {}
schema.setClass(ReviewEvent);
