import { readAnswer, readAnswers } from '../../../db/code-review/findings/answers.ts';
import { keepAnswer, planSteps } from '../../../domain/code-review/run-work.ts';
import { readReviewRun, type ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import { advanceReview, keyOf, type StageAnswer, type StageAnswers, type StageCall } from '../../../domain/code-review/pipeline/advance.ts';
import { readWords } from '../../../domain/code-review/pipeline/answers.ts';
import { commentsOf, replyText } from '../../../domain/code-review/pipeline/comment-text.ts';
import type { Conclusion } from '../../../domain/code-review/pipeline/conclude.ts';
import type { ReviewMaterial } from '../../../domain/code-review/pipeline/material.ts';
import { unpackMaterial, type PackedMaterial } from '../../../domain/code-review/pipeline/pack-material.ts';
import { planAnswer, type PlannedReview, type ReviewPlan } from '../../../domain/code-review/pipeline/plan.ts';
import { checkVariables } from '../../../domain/code-review/pipeline/prompt-variables.ts';
import { outputLine, outputText } from '../../../domain/code-review/pipeline/text-safety.ts';
import { annotationsOf } from '../../../domain/code-review/pipeline/verdict.ts';
import type { NextCalls } from '../../../workflows/contracts/review/review-runs.ts';
import type { ActivityDeps } from '../../deps.ts';
import { transactAsRun } from '../../runs/as-run.ts';
import { readAsSystem } from '../../support/as-system.ts';
import { runCancelled } from '../../support/failures.ts';
import { materialAnswer } from '../read/fetch-diff.ts';

/** Steps before the first model call: reading the pull request, opening its check. */
const firstCallStep = 3;
/** Stages whose answers come from models. */
const modelStages: readonly StageCall['stage'][] = ['summary', 'pass', 'verify', 'fixed', 'same', 'reply'];

/** A review and what is known about it so far. */
export interface ReviewState {
  readonly run: ReviewRun;
  readonly material: ReviewMaterial;
  readonly answers: StageAnswers;
}

/** Reads the results of a run's stages. Throws `run_cancelled` when they are no longer stored. */
export async function readReviewState(deps: ActivityDeps, runId: string): Promise<ReviewState> {
  return readAsSystem(deps, async (tx) => {
    const run = await readReviewRun(tx, runId);
    const material = await readAnswer(tx, runId, materialAnswer);
    if (run === null || material === null) throw runCancelled();
    const kept = await readAnswers(tx, runId, modelStages);
    return {
      run,
      // Stored by `fetchDiff` and `askStages`, in these shapes.
      material: unpackMaterial(material as PackedMaterial),
      answers: new Map(kept.map(({ stage, ordinal, answer }) => [`${stage}:${ordinal}`, answer as StageAnswer])),
    };
  });
}

/** Plans the next calls of a run; when none are left, stores its plan. */
export async function nextCalls(deps: ActivityDeps, runId: string): Promise<NextCalls> {
  const state = await readReviewState(deps, runId);
  const advance = state.run.review.kind === 'ask' ? advanceAsk(state) : advanceReview(state.material, rulesOf(state.run), state.answers);
  const plan = advance.kind === 'ask' ? null : 'conclusion' in advance ? await planOf(deps, state, advance.conclusion) : advance.plan;
  return transactAsRun(deps, runId, async (tx) => {
    const calls = advance.kind === 'ask' ? await planSteps(tx, runId, { calls: advance.calls, firstStep: firstCallStep }) : [];
    if (plan !== null) await keepAnswer(tx, runId, { ...planAnswer, answer: plan });
    const planned = await readAnswers(tx, runId, ['step']);
    return { calls, nextStep: Math.max(firstCallStep, ...planned.map(({ ordinal }) => ordinal + 1)) };
  });
}

/** Returns the rules that apply to a run. */
export function rulesOf({
  templates,
  binding,
}: Pick<ReviewRun, 'templates'> & { readonly binding: Pick<ReviewRun['binding'], 'reviewConfig'> }) {
  return { templates, config: binding.reviewConfig };
}

const replyCall: StageCall = { stage: 'reply', ordinal: 0 };

function advanceAsk({ material, answers }: ReviewState): { kind: 'ask'; calls: readonly StageCall[] } | { kind: 'done'; plan: ReviewPlan } {
  const answer = answers.get(keyOf(replyCall));
  if (answer === undefined) return { kind: 'ask', calls: [replyCall] };
  const text = answer.kind === 'given' ? replyText(readWords(answer.value)) : '';
  return { kind: 'done', plan: { kind: 'ask', headSha: material.headSha, text: text === '' ? noAnswer : text } };
}

const noAnswer = 'There is no answer to this: the model gave none, or the budget of the binding is used up.';

async function planOf(deps: ActivityDeps, { run, material }: ReviewState, conclusion: Conclusion): Promise<PlannedReview> {
  const { check, summary: wanted } = { check: run.templates.check, summary: run.binding.reviewConfig.summary };
  const { counts, verdict, findings } = conclusion;
  const open = counts.inline + counts.file + counts.folded + counts.carried + conclusion.back.length;
  const facts = checkVariables({ verdict, headSha: material.headSha, counts: { ...counts, open } });
  const [title = '', summary = ''] = await deps.templates.of(run.organizationId).renderAll([check.title, check.summary], facts);
  const isReported = wanted === 'always' || (wanted === 'findings' && open > 0);
  return {
    kind: 'review',
    headSha: material.headSha,
    baseSha: material.baseSha,
    mergeBaseSha: material.mergeBaseSha,
    baseRef: material.pull.baseRef,
    conclusion,
    comments: commentsOf(findings, run.binding.id),
    summary: isReported ? conclusion.summary : '',
    event: conclusion.isBlocking && !run.pull.isBlockDismissed ? 'REQUEST_CHANGES' : 'COMMENT',
    check: {
      conclusion: conclusion.check,
      title: outputLine(title).slice(0, 250) || 'Review',
      summary: outputText(summary).slice(0, 60_000),
      annotations: annotationsOf(findings),
    },
  };
}
