import { type Selectable, sql } from 'kysely';
import { now } from '../../expressions.ts';
import { insertFrom } from '../../insert-from.ts';
import type { ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { recordset } from '../../recordset.ts';
import type { Tables } from '../../table-types.ts';

/** The columns that a new finding supplies, and their types; the rest comes from its pull request and its run. */
const given = {
  id: 'uuid',
  fingerprint: 'text',
  ruleId: 'text',
  category: 'text',
  severity: 'text',
  confidence: 'numeric',
  path: 'text',
  side: 'text',
  startLine: 'int',
  endLine: 'int',
  title: 'text',
  scenario: 'text',
  evidence: 'text',
  suggestion: 'text',
  state: 'text',
  placement: 'text',
  commentId: 'bigint',
  threadId: 'text',
  alsoAt: 'jsonb',
} as const;

/** A finding to be stored. */
export type NewFinding = Pick<Selectable<Tables['review_findings']>, keyof typeof given>;

/** Findings to be stored, with the run that found them. */
export interface NewFindings {
  readonly pullRequestId: string;
  readonly runId: string;
  readonly headSha: string;
  /** `NewFinding`s, written by `recordsetText`. */
  readonly findings: string;
}

/** Inserts findings of a pull request. */
export function insertFindings({ pullRequestId, runId, headSha, findings }: ParametersOf<NewFindings>) {
  const found = recordset<NewFinding>(findings, given).as('c');
  return insertFrom(
    'review_findings',
    query.selectFrom(['review_pull_requests as p', found]).where('p.id', '=', pullRequestId),
    ({ ref }) => ({
      id: ref('c.id'),
      organizationId: ref('p.organizationId'),
      workspaceId: ref('p.workspaceId'),
      pullRequestId: ref('p.id'),
      fingerprint: ref('c.fingerprint'),
      ruleId: ref('c.ruleId'),
      category: ref('c.category'),
      severity: ref('c.severity'),
      confidence: ref('c.confidence'),
      path: ref('c.path'),
      side: ref('c.side'),
      startLine: ref('c.startLine'),
      endLine: ref('c.endLine'),
      title: ref('c.title'),
      scenario: ref('c.scenario'),
      evidence: ref('c.evidence'),
      suggestion: ref('c.suggestion'),
      state: ref('c.state'),
      placement: ref('c.placement'),
      commentId: ref('c.commentId'),
      threadId: ref('c.threadId'),
      alsoAt: ref('c.alsoAt'),
      firstRunId: sql<string>`${runId}::uuid`,
      firstHeadSha: sql<string>`${headSha}::text`,
      lastHeadSha: sql<string>`${headSha}::text`,
      createdAt: now,
      updatedAt: now,
    }),
  );
}
