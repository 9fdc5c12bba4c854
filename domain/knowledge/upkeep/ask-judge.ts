import { payingWorkspace } from '../../../db/knowledge/items/pending-items.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { JudgeQuestion, Judgement } from './judge.ts';
import { billedStep, flightOf, keepAnswer } from '../runs/judge-calls.ts';
import type { TaskBatch } from './maintenance.ts';

/**
 * Asks the judge of the policy, at the run's cost. The answer is stored in the cursor of the run until the batch commits, so that a worker that takes over
 * neither asks nor pays again. Throws 422 `judge_model_required` when the policy no longer names a judge, 402 and 429 by the budget.
 */
export async function askJudge(
  batch: TaskBatch,
  question: Pick<JudgeQuestion, 'step' | 'instructions' | 'prompt' | 'schema'>,
): Promise<Judgement> {
  const { run, policy, tools, read, signal, cursor } = batch;
  signal.throwIfAborted();
  const kept = cursor.answers?.[question.step];
  if (kept !== undefined) return kept;
  if (policy.judgeModel === null)
    throw fail('validation_failed', { reason: 'judge_model_required', detail: 'The policy of the base has no judge_model.' });
  const workspaceId = await read((tx) => payingWorkspace(tx, run));
  if (workspaceId === null || run.organizationId === null)
    throw fail('validation_failed', { reason: 'no_workspace', detail: 'The base has no workspace to pay for it.' });
  const { organizationId, id: runId } = run;
  const asked = { runId, cursor, step: question.step };
  return tools.judge({
    ...question,
    step: billedStep(cursor, question.step),
    model: policy.judgeModel,
    runId,
    organizationId,
    workspaceId,
    signal,
    keep: (tx, answer) => keepAnswer(tx, asked, answer),
    flight: flightOf(asked, workspaceId),
  });
}
