import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, uuidColumn } from '../../columns.ts';
import { tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'ReviewAnswer',
  tableName: 'review_answers',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('review_answers', 'tenant'),
  indexes: [...tenantIndexes('review_answers'), uniqueIndex('review_answers', 'ordinal', '(run_id, stage, ordinal)')],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    runId: uuidColumn(),
    /** The stage of the review that it answers. */
    stage: p.text(),
    ordinal: p.integer(),
    answer: p.json<unknown>(),
    createdAt: createdAtColumn(),
  },
});

/** The result of a stage of a review, stored before it is used: a repeat asks no model again. */
export class ReviewAnswer extends schema.class {}
schema.setClass(ReviewAnswer);
