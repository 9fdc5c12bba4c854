import { sql } from 'kysely';
import type { Condition } from '../condition.ts';
import { newId } from '../ids.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { Run } from '../runs/run.entity.ts';
import { visibleToSql, visibleTo, type Scoped } from '../scope.ts';
import { change, row } from '../sql.ts';
import { Feedback, type Rating, type VoterKind } from './feedback.entity.ts';

/** The voter: one vote per voter and run. */
export interface Voter {
  readonly kind: VoterKind;
  readonly id: string;
}

/** A complete vote: null or empty values were not given. */
export interface Vote {
  readonly rating: Rating;
  readonly comment: string | null;
  readonly tags: readonly string[];
  readonly correction: string | null;
}

/** The part of a run that votes on it need. */
export type VotedRun = NonNullable<Awaited<ReturnType<typeof shareVotedRun>>>;
export type FeedbackRow = Awaited<ReturnType<typeof upsertVote>>;

const votedRun = prepared(({ runId, visible }: ParametersOf<{ runId: string; visible: Condition }>) =>
  query
    .selectFrom('runs as r')
    .select(['r.id', 'r.organizationId', 'r.workspaceId', 'r.agentId', 'r.agentRevisionId', 'r.status'])
    .where('r.id', '=', runId)
    .where('r.deletedAt', 'is', null)
    .where(visible)
    .forShare('r'),
);

/** Returns a run that the caller sees, locked for share until the end of the transaction, or null when there is none. */
export async function shareVotedRun(ctx: Scoped, runId: string) {
  return row(ctx.em, votedRun({ runId, visible: visibleToSql(ctx, Run, 'r') }));
}

interface VoteColumns extends Vote {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly runId: string;
  readonly agentId: string;
  readonly agentRevisionId: string;
  readonly subjectKind: VoterKind;
  readonly subjectId: string;
}

const upsert = prepared((vote: ParametersOf<VoteColumns>) =>
  query
    .insertInto('feedback')
    .values({ ...vote, tags: sql<string[]>`${vote.tags}::text[]`, createdAt: sql<string>`now()`, updatedAt: sql<string>`now()` })
    .onConflict((conflict) =>
      conflict.columns(['runId', 'subjectKind', 'subjectId']).doUpdateSet(({ ref }) => ({
        rating: ref('excluded.rating'),
        comment: ref('excluded.comment'),
        tags: ref('excluded.tags'),
        correction: ref('excluded.correction'),
        updatedAt: sql<string>`clock_timestamp()`,
      })),
    )
    .returning(['id', 'runId', 'agentId', 'agentRevisionId', 'subjectKind', 'subjectId', 'rating', 'comment', 'tags', 'correction'])
    .returning(['createdAt', 'updatedAt']),
);

/** Stores a voter's vote, replacing an earlier one. */
export async function upsertVote(ctx: Scoped, run: VotedRun, { voter, vote }: { readonly voter: Voter; readonly vote: Vote }) {
  const { organizationId, workspaceId, agentId, agentRevisionId } = run;
  const about = { organizationId, workspaceId, runId: run.id, agentId, agentRevisionId, subjectKind: voter.kind, subjectId: voter.id };
  const { rating, comment, tags, correction } = vote;
  const put = await row(ctx.em, upsert({ id: newId(), ...about, rating, comment, tags, correction }));
  if (!put) throw new Error('the upsert of a vote gave no row');
  return put;
}

/** Deletes a voter's vote; returns false when there was none. */
export async function deleteVote(ctx: Scoped, runId: string, voter: Voter): Promise<boolean> {
  const removed = await change(
    ctx.em,
    query
      .deleteFrom('feedback as f')
      .where('f.runId', '=', runId)
      .where('f.subjectKind', '=', voter.kind)
      .where('f.subjectId', '=', voter.id)
      .where(visibleTo(ctx, Feedback, 'f')),
  );
  return removed > 0;
}
