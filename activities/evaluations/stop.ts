import { setTimeout as delay } from 'node:timers/promises';
import { readEvaluationState } from '../../db/evaluations/work.ts';
import { isEnded, stopEvaluation } from '../../domain/evaluations/lifecycle.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem, transactAsSystem } from '../support/as-system.ts';
import { settleOpenVotes } from './lost-votes.ts';

/** Cancelled runs end within moments, and their cost counts; runs whose worker is lost are not waited for longer than this. */
const patienceMs = 60_000;
const pollMs = 200;

/** Ends what remains of an evaluation that stops: runs, questions to judges, results. */
export async function stopWork(deps: ActivityDeps, id: string, signal: AbortSignal): Promise<void> {
  const evaluation = await readAsSystem(deps, (tx) => readEvaluationState(tx, id));
  if (evaluation === null || isEnded(evaluation)) return;
  await settleOpenVotes(deps, evaluation);
  const until = performance.now() + patienceMs;
  for (;;) {
    const isPatient = performance.now() < until;
    if ((await transactAsSystem(deps, (tx) => stopEvaluation(tx, id, { isPatient }))) === 'stopped') return;
    await delay(pollMs, undefined, { signal });
  }
}
