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
    /** Set by `/pause`: no review starts automatically. */
    paused: p.boolean().default(false),
    /** A person dismissed a review that requested changes: no later review requests them. */
    isBlockDismissed: p.boolean().default(false),
    /** The host's time of the newest applied event: an older one that arrives later changes nothing. */
    heardAt: timeColumn().strictNullable(),
    baseRef: p.text().strictNullable(),
    /** The newest known head. */
    headSha: p.text().strictNullable(),
    lastBaseRef: p.text().strictNullable(),
    /** Head of the last successful review; null: there was none. */
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
    /** When the requested review begins, or the reactions to a closed one are read; null: nothing is due. */
    dueAt: timeColumn().strictNullable(),
    /** The first of the pushes that it waits for. */
    dueSince: timeColumn().strictNullable(),
    isDueFull: p.boolean().default(false),
    closedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** A pull request of a bound repository, and the progress of its reviews. */
export class ReviewPullRequest extends schema.class {}
schema.setClass(ReviewPullRequest);
