import { type NotNull, sql } from 'kysely';
import type { PullRequestInput } from '../../../workflows/contracts/review/pull-requests.ts';
import { now } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

const postedBy = prepared(({ ownerId }: ParametersOf<{ readonly ownerId: string }>) =>
  query
    .selectFrom('review_posts as p')
    .select(['p.kind', 'p.ordinal', 'p.githubId'])
    .where('p.ownerId', '=', ownerId)
    .where('p.state', '=', 'posted')
    .orderBy('p.kind')
    .orderBy('p.ordinal'),
);

/** Returns what a run has posted to the host, by kind and in order. */
export function readPosted(tx: Tx, ownerId: string) {
  return rows(tx.em, postedBy({ ownerId }));
}

const commented = prepared(({ pullRequestId }: ParametersOf<{ readonly pullRequestId: string }>) =>
  query
    .selectFrom('review_findings as f')
    .select(['f.id', 'f.fingerprint', 'f.commentId', 'f.threadId'])
    .where('f.pullRequestId', '=', pullRequestId)
    .where('f.commentId', 'is not', null)
    .orderBy('f.id')
    .$narrowType<{ commentId: NotNull }>(),
);

/** Returns the findings of a pull request that have a comment, with id and fingerprint. */
export function readCommented(tx: Tx, pullRequestId: string) {
  return rows(tx.em, commented({ pullRequestId }));
}

const reviewHead = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query.selectFrom('runs as r').select('r.reviewHeadSha').where('r.id', '=', runId),
);

/** Returns the head that a run reviews, or null when it has not been read yet. */
export async function readReviewHead(tx: Tx, runId: string): Promise<string | null> {
  return (await row(tx.em, reviewHead({ runId })))?.reviewHeadSha ?? null;
}

const editorOf = prepared(({ bindingId }: ParametersOf<{ readonly bindingId: string }>) =>
  query
    .selectFrom('repo_bindings as b')
    .select(({ ref }) =>
      sql<boolean>`${ref('b.editorAgentId')} is not null and ${ref('b.editorConfig')} ->> 'mode' <> 'off'`.as('hasEditor'),
    )
    .where('b.id', '=', bindingId),
);

/** Whether the binding of a run has an editor: then its checks have a button. */
export async function hasEditor(tx: Tx, bindingId: string): Promise<boolean> {
  return (await row(tx.em, editorOf({ bindingId })))?.hasEditor ?? false;
}

/** A pull request that is closed and whose reactions are due. `hasComments`: some of its findings have comments. */
export type ReactionsDue = NonNullable<Awaited<ReturnType<typeof reactionsDue>>>;

const closedDue = prepared(({ bindingId, pullNumber }: ParametersOf<PullRequestInput>) =>
  query
    .selectFrom('review_pull_requests as p')
    .select('p.id as pullRequestId')
    .select(({ exists, selectFrom }) =>
      exists(
        selectFrom('review_findings as f').select('f.id').whereRef('f.pullRequestId', '=', 'p.id').where('f.commentId', 'is not', null),
      )
        .$castTo<boolean>()
        .as('hasComments'),
    )
    .where('p.bindingId', '=', bindingId)
    .where('p.pullNumber', '=', pullNumber)
    .where('p.state', '=', 'closed')
    .where('p.dueAt', '<=', now),
);

/** Returns a closed pull request of the transaction's tenant whose reactions are due, or null when they are not. */
export function reactionsDue(tx: Tx, { bindingId, pullNumber }: PullRequestInput) {
  return row(tx.em, closedDue({ bindingId, pullNumber }));
}
