import { cancellationSignal } from '@temporalio/activity';
import { readEvaluationState } from '../../db/evaluations/work.ts';
import { beginEvaluation, finishEvaluation, isEnded } from '../../domain/evaluations/lifecycle.ts';
import type { EvaluationActivities } from '../../workflows/contracts/evaluations.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem, transactAsSystem } from '../support/as-system.ts';
import { exportResults } from './export-results.ts';
import { advancePass } from './pass.ts';
import { stopWork } from './stop.ts';
import { summaryOf } from './summarize.ts';

/** Activities of `evaluation`, in the signed tenant of the workflow. Rows record what is done, so each may be interrupted at any point and repeated. */
export function createEvaluationActivities(deps: ActivityDeps): EvaluationActivities {
  return {
    beginEvaluation: ({ evaluationRunId }) => transactAsSystem(deps, (tx) => beginEvaluation(tx, evaluationRunId)),
    advanceEvaluation: ({ evaluationRunId }) => advancePass(deps, evaluationRunId, cancellationSignal()),
    stopEvaluation: ({ evaluationRunId }) => stopWork(deps, evaluationRunId, cancellationSignal()),
    exportEvaluation: ({ evaluationRunId }) => exportResults(deps, evaluationRunId, cancellationSignal()),
    async finishEvaluation({ evaluationRunId }) {
      const evaluation = await readAsSystem(deps, (tx) => readEvaluationState(tx, evaluationRunId));
      if (evaluation === null || isEnded(evaluation)) return;
      const numbers = await summaryOf(deps, evaluation);
      await transactAsSystem(deps, (tx) => finishEvaluation(tx, evaluationRunId, numbers));
    },
  };
}
