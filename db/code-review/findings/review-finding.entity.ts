import { defineEntity, p } from '@mikro-orm/core';
import { findingStates, placements, severities, type FindingCategory } from '../../../workflows/contracts/review/code-review.ts';
import { bigintColumn, createdAtColumn, decimalColumn, idColumn, jsonColumn, updatedAtColumn, uuidColumn } from '../../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'ReviewFinding',
  tableName: 'review_findings',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('review_findings', 'tenant'),
  indexes: [
    ...tenantIndexes('review_findings'),
    uniqueIndex('review_findings', 'fingerprint', '(pull_request_id, fingerprint)'),
    index('review_findings', 'run', '(first_run_id)'),
    index('review_findings', 'comment', '(pull_request_id, comment_id) where comment_id is not null'),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    pullRequestId: uuidColumn(),
    fingerprint: p.text(),
    ruleId: p.text().strictNullable(),
    category: p.text().$type<FindingCategory>(),
    severity: p.enum(severities),
    confidence: decimalColumn(7, 6),
    path: p.text(),
    side: p.enum(['LEFT', 'RIGHT'] as const),
    startLine: p.integer(),
    endLine: p.integer(),
    title: p.text(),
    scenario: p.text(),
    /** The lines that prove it. */
    evidence: p.text(),
    suggestion: p.text().strictNullable(),
    state: p.enum(findingStates).default('open'),
    placement: p.enum(placements),
    commentId: bigintColumn().strictNullable(),
    /** The host's node id of its thread. */
    threadId: p.text().strictNullable(),
    alsoAt: jsonColumn<readonly { readonly path: string; readonly line: number }[]>(() => []),
    firstRunId: uuidColumn(),
    firstHeadSha: p.text(),
    lastHeadSha: p.text(),
    reactionsUp: p.integer().default(0),
    reactionsDown: p.integer().default(0),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** A fault found in a pull request: it has one row, however often it is found. */
export class ReviewFinding extends schema.class {}
schema.setClass(ReviewFinding);
