import type { Caller } from '../../db/caller.ts';
import { deleteVote, shareVotedRun, upsertVote, type FeedbackRow, type Vote, type VotedRun, type Voter } from '../../db/feedback/votes.ts';
import { seen, type Scoped } from '../../db/scope.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { isTerminal } from '../../workflows/contracts/runs/runs.ts';

/** The acting user, else the user, else the service key. Throws 403 for a client that acts for nobody. */
export function voterOf({ kind, userId, principalId }: Caller): Voter {
  if (userId !== null) return { kind: 'user', id: userId };
  if (kind === 'service_key' && principalId !== null) return { kind, id: principalId };
  throw fail('resource_forbidden', { reason: 'no_voter', detail: 'A client that does not act for a user cannot vote.' });
}

/**
 * Returns a run that the caller sees, locked in share mode until the transaction ends: it can't be purged before the vote is stored, nor voted on after a
 * purge. Throws 404.
 */
export async function lockVotedRun(ctx: Scoped, runId: string): Promise<VotedRun> {
  return seen(ctx, await shareVotedRun(ctx, runId));
}

/** Stores a voter's vote on a run that has ended, in place of an earlier one. Throws 409 `run_not_finished`. */
export async function putVote(ctx: Scoped, run: VotedRun, cast: { readonly voter: Voter; readonly vote: Vote }): Promise<FeedbackRow> {
  if (!isTerminal(run.status)) throw fail('state_conflict', { reason: 'run_not_finished', detail: 'The run has not ended yet.' });
  return upsertVote(ctx, run, cast);
}

/** Withdraws a voter's vote; returns false when there was none. */
export async function withdrawVote(ctx: Scoped, run: VotedRun, voter: Voter): Promise<boolean> {
  return deleteVote(ctx, run.id, voter);
}
