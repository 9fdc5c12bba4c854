import { defineEntity, p } from '@mikro-orm/core';
import { bigintColumn, createdAtColumn, decimalColumn, idColumn, timeColumn, updatedAtColumn, uuidColumn } from '../../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'ReviewPullRequest',
  tableName: 'review_pull_requests',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('review_pull_requests', 'tenant'),
  indexes: [
    ...tenantIndexes('review_pull_requests'),
    uniqueIndex('review_pull_requests', 'number', '(binding_id, pull_number)'),
    index('review_pull_requests', 'head', '(binding_id, head_sha)'),
    index('review_pull_requests', 'due', '(due_at) where due_at is not null'),
  ],
  uniques: [{ name: 'review_pull_requests_tenant_key', properties: ['id', 'organizationId'] }],
  checks: [{ name: 'review_pull_requests_closed_at', expression: "(state = 'closed') = (closed_at is not null)" }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    bindingId: uuidColumn(),
    pullNumber: p.integer(),
    state: p.enum(['open', 'closed'] as const).default('open'),
    isDraft: p.boolean().default(false),
    isFork: p.boolean().default(false),
    /** By `/pause`: nothing is reviewed by itself. */
    paused: p.boolean().default(false),
    /** A person dismissed a review that asked for changes: none asks again. */
    isBlockDismissed: p.boolean().default(false),
    /** The host's time of the newest event that was applied: an older one that comes later changes nothing. */
    heardAt: timeColumn().strictNullable(),
    baseRef: p.text().strictNullable(),
    /** The newest that was heard of. */
    headSha: p.text().strictNullable(),
    lastBaseRef: p.text().strictNullable(),
    /** Of the last review that ended well; null: there was none. */
    lastHeadSha: p.text().strictNullable(),
    lastMergeBaseSha: p.text().strictNullable(),
    lastPlaybookRevisionId: uuidColumn().strictNullable(),
    /** The host's review whose body is the summary. */
    summaryReviewId: bigintColumn().strictNullable(),
    summarySha256: p.text().fieldName('summary_sha256').strictNullable(),
    /** Number of its newest run. */
    round: p.integer().default(0),
    /** Pushes of the editor. */
    editorRounds: p.integer().default(0),
    spent: decimalColumn(20, 9).default('0'),
    /** When the review that was asked for begins, or the reactions to a closed one are read; null: nothing is due. */
    dueAt: timeColumn().strictNullable(),
    /** The first of the pushes that it waits for. */
    dueSince: timeColumn().strictNullable(),
    isDueFull: p.boolean().default(false),
    closedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** A pull request of a bound repository, and how far its reviews have come. */
export class ReviewPullRequest extends schema.class {}
schema.setClass(ReviewPullRequest);
