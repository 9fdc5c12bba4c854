import { readAnswer, readAnswers } from '../../../db/code-review/findings/answers.ts';
import { keepAnswer } from '../../../domain/code-review/run-work.ts';
import { readReviewRun, type ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import {
  editStages,
  roundOrdinal,
  type EditMade,
  type EditPushed,
  type EditStart,
  type KeptRound,
} from '../../../domain/code-review/editor/kept.ts';
import type { EditInput } from '../../../workflows/contracts/review/editor.ts';
import type { ActivityDeps } from '../../deps.ts';
import { transactAsRun } from '../../runs/as-run.ts';
import { readAsSystem } from '../../support/as-system.ts';
import { runCancelled } from '../../support/failures.ts';

/** A run of the editor with the stored results of its attempt. */
export interface EditAttempt {
  readonly run: ReviewRun;
  readonly start: EditStart | null;
  readonly rounds: readonly KeptRound[];
  readonly made: EditMade | null;
  readonly pushed: EditPushed | null;
}

/** What an attempt stores, by stage. */
interface Kept {
  readonly start: EditStart;
  readonly past: KeptRound;
  readonly made: EditMade;
  readonly pushed: EditPushed;
}

/** Reads an attempt. Throws `run_cancelled` when the run no longer exists. */
export async function readAttempt(deps: ActivityDeps, { runId, attempt }: Omit<EditInput, 'step'>): Promise<EditAttempt> {
  return readAsSystem(deps, async (tx) => {
    const run = await readReviewRun(tx, runId);
    if (run === null) throw runCancelled();
    const kept = async <S extends keyof Kept>(stage: S, ordinal: number) =>
      (await readAnswer(tx, runId, { stage: editStages[stage], ordinal })) as Kept[S] | null; // stored by `keepOf`
    const past = await readAnswers(tx, runId, [editStages.past]);
    return {
      run,
      start: await kept('start', attempt),
      rounds: past
        .filter(({ ordinal }) => ordinal > roundOrdinal(attempt, 0) && ordinal < roundOrdinal(attempt + 1, 0))
        .map(({ answer }) => answer as KeptRound),
      made: await kept('made', attempt),
      pushed: await kept('pushed', attempt),
    };
  });
}

/** Stores the result of a stage and returns the stored one: the first result that was stored stays. */
export function keepOf<S extends keyof Kept>(
  deps: ActivityDeps,
  runId: string,
  { stage, ordinal, answer }: { readonly stage: S; readonly ordinal: number; readonly answer: Kept[S] },
): Promise<Kept[S]> {
  return transactAsRun(deps, runId, async (tx) => (await keepAnswer(tx, runId, { stage: editStages[stage], ordinal, answer })) as Kept[S]); // of this stage
}
