import { expressionBuilder, type NotNull, sql } from 'kysely';
import { jsonBuildObject } from 'kysely/helpers/postgres';
import { liveRunStatuses } from '../../../workflows/contracts/runs/runs.ts';
import { literals } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { Tables } from '../../table-types.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A review's run with all that determines it: its binding, its pull request, and the pinned revision of the playbook. */
export type ReviewRun = NonNullable<Awaited<ReturnType<typeof readReviewRun>>>;
/** The part of a binding that its reviews need. */
export type ReviewBinding = ReviewRun['binding'];

const { and, eb, ref } = expressionBuilder<
  { readonly b: Tables['repo_bindings']; readonly p: Tables['review_pull_requests'] },
  'b' | 'p'
>();

/** The part of a binding `b` that its reviews need, as one value. */
export const reviewBinding = jsonBuildObject({
  id: ref('b.id'),
  appKind: ref('b.appKind'),
  installationId: ref('b.installationId'),
  installationState: ref('b.installationState'),
  repoId: ref('b.repoId'),
  repoFullName: ref('b.repoFullName'),
  reviewerAgentId: ref('b.reviewerAgentId'),
  isActive: and([ref('b.isActive'), eb('b.deletedAt', 'is', null)]).$castTo<boolean>(),
  reviewConfig: ref('b.reviewConfig'),
  editorConfig: ref('b.editorConfig'),
  budgetConfig: ref('b.budgetConfig'),
  workspaceConfig: ref('b.workspaceConfig'),
});

/** A pull request `p`, and the results of its last successful review, as one value. */
const reviewPull = jsonBuildObject({
  id: ref('p.id'),
  pullNumber: ref('p.pullNumber'),
  paused: ref('p.paused'),
  isBlockDismissed: ref('p.isBlockDismissed'),
  lastBaseRef: ref('p.lastBaseRef'),
  lastHeadSha: ref('p.lastHeadSha'),
  lastMergeBaseSha: ref('p.lastMergeBaseSha'),
  lastPlaybookRevisionId: ref('p.lastPlaybookRevisionId'),
  editorRounds: ref('p.editorRounds'),
  // A number of JSON would lose digits.
  spent: sql<string>`${ref('p.spent')}::text`,
  summaryReviewId: ref('p.summaryReviewId'),
  summarySha256: ref('p.summarySha256'),
});

const reviewRun = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('runs as r')
    .innerJoin('repo_bindings as b', 'b.id', 'r.bindingId')
    .innerJoin('review_pull_requests as p', 'p.id', 'r.reviewPullRequestId')
    .innerJoin('review_playbook_revisions as v', 'v.id', 'r.playbookRevisionId')
    .select(['r.id as runId', 'r.organizationId', 'r.workspaceId', 'r.status', 'r.agentId', 'r.review', 'r.reviewRound as round'])
    // Instructions of the person who asked, or the question of an ask; empty: none.
    .select(({ ref }) =>
      sql<string>`case when (${ref('r.review')} ->> 'has_text')::boolean then coalesce(${ref('r.input')} ->> 'text', '') else '' end`.as(
        'text',
      ),
    )
    .select(['r.playbookRevisionId', 'v.templates', 'r.startedAt', reviewBinding.as('binding'), reviewPull.as('pull')])
    .where('r.id', '=', runId)
    .where('r.deletedAt', 'is', null)
    .where('r.review', 'is not', null)
    .$narrowType<{ review: NotNull; playbookRevisionId: NotNull }>(),
);

/** Returns a review's run of the transaction's tenant, or null when it is deleted or is not a review. */
export async function readReviewRun(tx: Pick<TenantTransaction, 'em'>, runId: string) {
  const found = await row(tx.em, reviewRun({ runId }));
  return found && { ...found, startedAt: found.startedAt === null ? null : new Date(found.startedAt) };
}

const stillLive = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('runs as r')
    .select('r.status')
    .where('r.id', '=', runId)
    .where('r.status', 'in', literals(...liveRunStatuses)),
);

/** Returns a run of the transaction's tenant that has not ended, or null when it has or there is none. */
export function liveRun(tx: Pick<TenantTransaction, 'em'>, runId: string) {
  return row(tx.em, stillLive({ runId }));
}
