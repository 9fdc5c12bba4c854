import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, updatedAtColumn, uuidColumn } from '../../columns.ts';
import { tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const reviewPostKinds = ['review', 'summary', 'check', 'reply', 'reaction', 'push'] as const;
export const reviewPostStates = ['sending', 'posted'] as const;

const schema = defineEntity({
  name: 'ReviewPost',
  tableName: 'review_posts',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('review_posts', 'tenant'),
  indexes: [...tenantIndexes('review_posts'), uniqueIndex('review_posts', 'ordinal', '(owner_id, kind, ordinal)')],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    /** The run or command that it is posted for. */
    ownerId: uuidColumn(),
    kind: p.enum(reviewPostKinds),
    ordinal: p.integer(),
    /** `sending`: it may have arrived; the host is asked before it is sent again. */
    state: p.enum(reviewPostStates).default('sending'),
    /** Its id on the host; for a push, the sha. */
    githubId: p.text().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** Something that is posted to the host, once. */
export class ReviewPost extends schema.class {}
schema.setClass(ReviewPost);
