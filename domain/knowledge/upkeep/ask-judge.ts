import { payingWorkspace } from '../../../db/knowledge/items/pending-items.ts';
import { lockKnowledgeRun } from '../../../db/knowledge/runs/runs.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { JudgeQuestion, Judgement } from './judge.ts';
import type { MaintenanceCursor, TaskBatch } from './maintenance.ts';

/**
 * Asks the judge of the policy at the cost of the run. The answer stays with the cursor of the run until the batch commits, so that a worker that takes over
 * neither asks nor pays again. Throws 422 `judge_model_required` where the policy names none any more, 402 and 429 by the budget.
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
  const keep = (tx: TenantTransaction, answer: Judgement) => keepAnswer(tx, { runId, cursor, step: question.step, answer });
  return tools.judge({ ...question, model: policy.judgeModel, runId, organizationId, workspaceId, signal, keep });
}

interface KeptAnswer {
  readonly runId: string;
  readonly cursor: MaintenanceCursor;
  readonly step: string;
  readonly answer: Judgement;
}

/** A run that has ended meanwhile keeps nothing. */
async function keepAnswer(tx: TenantTransaction, { runId, cursor, step, answer }: KeptAnswer): Promise<void> {
  const run = await lockKnowledgeRun(tx, runId);
  if (run === null || run.finishedAt !== null) return;
  // Written by this function and `noteProgress` alone.
  const answers = (run.cursor as Pick<MaintenanceCursor, 'answers'> | null)?.answers;
  run.cursor = { ...cursor, answers: { ...answers, [step]: answer } };
  await tx.em.flush();
}
