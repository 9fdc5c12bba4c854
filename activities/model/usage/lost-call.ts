import { markInFlight } from '../../../domain/runs/steps/tries.ts';
import { settleLostCall } from '../../../domain/runs/steps/lost-calls.ts';
import type { ActivityDeps } from '../../deps.ts';
import { autocommitAsRun, transactAsRun } from '../../runs/as-run.ts';
import { fenced } from '../../support/failures.ts';
import { retryWhileUnavailable } from '../../support/retry-unavailable.ts';
import type { ModelTry } from '../model-try.ts';
import type { ModelStepRequest } from '../step.ts';
import { countPrompt } from './usage.ts';

/**
 * Records that the call leaves now, and what its bill needs: if this worker is lost, the try that takes over the step settles it. Throws `fenced` when a later
 * try has the step.
 */
export async function announceCall(
  deps: ActivityDeps,
  { opened, step, model, terms, startedAt }: ModelTry,
  { messageId, request }: { readonly messageId: string; readonly request: ModelStepRequest },
): Promise<void> {
  const { run, attempt } = opened;
  const call = {
    attempt,
    messageId,
    model: model.id,
    provider: model.provider,
    isFree: model.isFree,
    inputTokens: countPrompt(request),
    currency: deps.env.billingCurrency,
    reservedAt: startedAt.toISOString(),
    prices: terms.prices,
  };
  const isOurs = await retryWhileUnavailable(() => autocommitAsRun(deps, run.id, (tx) => markInFlight(tx, { runId: run.id, step }, call)));
  if (!isOurs) throw fenced();
}

/** Settles the call of an earlier try whose worker was lost, or releases its hold, before the next call leaves. */
export async function settleLost(deps: ActivityDeps, { opened, step }: ModelTry): Promise<void> {
  const { run, unsettled } = opened;
  if (unsettled === null) return;
  const isSettled = await retryWhileUnavailable(() =>
    transactAsRun(deps, run.id, (tx) => settleLostCall(tx, { runId: run.id, step, attempt: unsettled })),
  );
  if (isSettled) deps.log.warn({ run_id: run.id, step, attempt: unsettled }, 'call of a lost worker settled by estimate');
}
