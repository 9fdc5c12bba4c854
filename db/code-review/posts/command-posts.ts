import type { NotNull } from 'kysely';
import type { PullRequestInput } from '../../../workflows/contracts/review/pull-requests.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** A processed command, with what is needed to reply to it on the host. */
export type CommandPost = NonNullable<Awaited<ReturnType<typeof readCommandPost>>>;

const commandPost = prepared(({ commandId }: ParametersOf<{ readonly commandId: string }>) =>
  query
    .selectFrom('review_commands as c')
    .innerJoin('review_pull_requests as p', 'p.id', 'c.pullRequestId')
    .select(['c.id', 'c.organizationId', 'c.workspaceId', 'p.bindingId', 'p.pullNumber', 'c.commentId', 'c.commentKind'])
    // Null: the comment begins a thread itself, or is in the conversation.
    .select(['c.inReplyTo', 'c.state', 'c.reply'])
    .where('c.id', '=', commandId),
);

/** Returns a command of the transaction's tenant, or null when it is deleted. */
export function readCommandPost(tx: Tx, commandId: string) {
  return row(tx.em, commandPost({ commandId }));
}

const dismissedComments = prepared(({ bindingId, pullNumber }: ParametersOf<PullRequestInput>) =>
  query
    .selectFrom('review_findings as f')
    .innerJoin('review_pull_requests as p', 'p.id', 'f.pullRequestId')
    .select('f.commentId')
    .where('p.bindingId', '=', bindingId)
    .where('p.pullNumber', '=', pullNumber)
    .where('f.state', '=', 'dismissed')
    .where('f.commentId', 'is not', null)
    .orderBy('f.id')
    .$narrowType<{ commentId: NotNull }>(),
);

/** Returns the comments of a pull request whose findings a person has dismissed. */
export function readDismissedComments(tx: Tx, { bindingId, pullNumber }: PullRequestInput) {
  return rows(tx.em, dismissedComments({ bindingId, pullNumber }));
}
