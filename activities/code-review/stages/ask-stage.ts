import { ApplicationFailure } from '@temporalio/common';
import { readAnswer } from '../../../db/code-review/findings/answers.ts';
import { closeStep, keepAnswer } from '../../../domain/code-review/run-work.ts';
import type { StageAnswer } from '../../../domain/code-review/pipeline/advance.ts';
import { redactTokens } from '../../../domain/code-review/pipeline/text-safety.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { PlannedStageCall } from '../../../workflows/contracts/review/review-runs.ts';
import type { ActivityDeps } from '../../deps.ts';
import { askOwnQuestion } from '../../model/own-question.ts';
import { transactAsRun } from '../../runs/as-run.ts';
import { readAsSystem } from '../../support/as-system.ts';
import { readReviewState } from './next-calls.ts';
import { questionOf } from './stage-questions.ts';

/** The question of a stage to a model. */
export interface StageQuestion {
  readonly instructions: string;
  readonly prompt: string;
  /** JSON Schema of the answer. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** A model of the registry to try before those of the run's agent; null: only those. */
  readonly model: string | null;
}

/** A call of a stage. */
export interface StageAsked extends PlannedStageCall {
  readonly runId: string;
  /** Makes the question, when there is no answer yet; null: there is nothing left to ask. */
  readonly questionOf: () => Promise<StageQuestion | null>;
}

const maxOutputTokens = 16_000;

/**
 * Returns the answer of a stage's call: the stored one, or a new one of a model, which is stored in the transaction that stores and bills its step. A full
 * budget and a model that returns no answer are answers, too. Throws failures that make another try of the call worthwhile, and those that end the run.
 */
export async function askStage(deps: ActivityDeps, asked: StageAsked): Promise<StageAnswer> {
  const { runId, step, stage, ordinal } = asked;
  const kept = await readAsSystem(deps, (tx) => readAnswer(tx, runId, { stage, ordinal }));
  if (kept !== null) return kept as StageAnswer; // stored below, in this shape
  const keepFailed = async (reason: 'budget' | 'model'): Promise<StageAnswer> => {
    const answer: StageAnswer = { kind: 'failed', reason };
    await transactAsRun(deps, runId, async (tx) => {
      await keepAnswer(tx, runId, { stage, ordinal, answer });
      await closeStep(tx, { runId, step }, faults[reason]);
    });
    return answer;
  };

  const question = await asked.questionOf();
  if (question === null) return keepFailed('model');
  try {
    const answer = await askOwnQuestion(deps, {
      ...question,
      runId,
      step,
      maxOutputTokens,
      clean: redactValue,
      keep: (tx, value) => keepAnswer(tx, runId, { stage, ordinal, answer: { kind: 'given', value } }),
    });
    if (answer.kind === 'unreadable') return await keepFailed('model');
    if (answer.kind === 'wait') return await onWait(answer.wait, { keepFailed, nowMs: deps.db.clock.now().getTime() });
  } catch (error) {
    if (error instanceof ApplicationFailure && error.type === 'budget_exceeded') return keepFailed('budget');
    throw error;
  }
  return askStage(deps, { ...asked, questionOf: () => Promise.resolve(null) });
}

const faults = {
  budget: { code: 'budget_exceeded', message: 'The budget leaves no room for the call.', retryable: false, reason: null },
  model: {
    code: 'upstream_failed',
    message: 'The model gave no answer of the form that was asked for.',
    retryable: false,
    reason: 'output_invalid',
  },
} as const;

/** A review does not wait for a budget: it reports what is verified by then. When a provider asks for a pause, it is called again after it. */
function onWait(
  wait: { readonly on: 'budget' } | { readonly on: 'timer'; readonly untilMs: number },
  { keepFailed, nowMs }: { readonly keepFailed: (reason: 'budget') => Promise<StageAnswer>; readonly nowMs: number },
): Promise<StageAnswer> {
  if (wait.on === 'budget') return keepFailed('budget');
  const retryAfterS = Math.min(600, Math.max(1, Math.ceil((wait.untilMs - nowMs) / 1_000)));
  throw fail('upstream_failed', { reason: 'rate_limited', detail: 'The model provider asks for a pause.', retryAfterS });
}

/** Redacts token-shaped strings in every text of a JSON value. */
function redactValue(value: unknown): unknown {
  if (typeof value === 'string') return redactTokens(value);
  if (Array.isArray(value)) return value.map(redactValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, redactValue(member)]));
}

/** Makes several calls of a review at once. One that fails does not stop the others; its error is thrown when they have ended. */
export async function askStages(
  deps: ActivityDeps,
  { runId, calls }: { readonly runId: string; readonly calls: readonly PlannedStageCall[] },
): Promise<void> {
  const state = await readReviewState(deps, runId);
  const asked = calls.map((call) => askStage(deps, { runId, ...call, questionOf: () => questionOf(deps, state, call) }));
  const ended = await Promise.allSettled(asked);
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
}
