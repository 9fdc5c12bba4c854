import { openVotes, type EvaluationState, type OpenVote } from '../../db/evaluations/work.ts';
import type { ClaimedResult } from '../../db/evaluations/write-work.ts';
import { settleLostVote } from '../../domain/evaluations/scoring.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem, transactAsSystem } from '../support/as-system.ts';

const atOnce = 100;

/** Returns the votes that an earlier worker had asked for when it was lost. */
export function openVotesOf({ id, votes }: Pick<ClaimedResult, 'id' | 'votes'>): OpenVote[] {
  return Object.entries(votes).flatMap(([name, vote]) => ('asked' in vote ? [{ resultId: id, name, asked: vote.asked }] : []));
}

/** Settles calls whose workers were lost, each once: the provider may have billed them. */
export async function settleLostVotes(deps: ActivityDeps, evaluation: EvaluationState, votes: readonly OpenVote[]): Promise<void> {
  for (const vote of votes) {
    await transactAsSystem(deps, (tx) => settleLostVote(tx, evaluation, vote));
    deps.log.warn({ evaluation_run_id: evaluation.id, result_id: vote.resultId }, 'call of a lost worker settled by estimate');
  }
}

/** Settles all open votes of an evaluation: when it stops, no worker takes them over. */
export async function settleOpenVotes(deps: ActivityDeps, evaluation: EvaluationState): Promise<void> {
  for (;;) {
    const votes = await readAsSystem(deps, (tx) => openVotes(tx, evaluation.id, atOnce));
    if (votes.length === 0) return;
    await settleLostVotes(deps, evaluation, votes);
  }
}
