import { Context } from '@temporalio/activity';
import { closeStep, openStep } from '../../domain/code-review/run-work.ts';
import type { ReviewStepInput } from '../../workflows/contracts/review/review-runs.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsRun } from '../runs/as-run.ts';
import { runCancelled, toApplicationFailure } from '../support/failures.ts';

/**
 * Runs work on git or the host as a step of its run; the step records what was done and its outcome. Its tries are counted in the step's row. Throws what the
 * work throws, and `run_cancelled` when the run is cancelling or over.
 */
export async function asSystemStep<R>(
  deps: ActivityDeps,
  { runId, step, name }: ReviewStepInput & { readonly name: string },
  work: () => Promise<R>,
): Promise<R> {
  const isOpen = await transactAsRun(deps, runId, (tx) => openStep(tx, { runId, step, name, attempt: Context.current().info.attempt }));
  if (!isOpen) throw runCancelled();
  try {
    const result = await work();
    await transactAsRun(deps, runId, (tx) => closeStep(tx, { runId, step }, null));
    return result;
  } catch (error) {
    const { message, type, nonRetryable } = toApplicationFailure(error);
    const stepError = { code: type ?? 'internal_error', message: message.slice(0, 500), retryable: nonRetryable !== true, reason: null };
    await transactAsRun(deps, runId, (tx) => closeStep(tx, { runId, step }, stepError)).catch((err: unknown) =>
      deps.log.warn({ err, run_id: runId, step }, 'failed step not recorded'),
    );
    throw error;
  }
}
