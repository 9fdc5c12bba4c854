import { capsAbove } from '../../db/billing/budgets/cap-keys.ts';
import { rejectsUnpriced } from '../../db/billing/prices/prices.ts';
import { readTerms, type CallTerms } from '../../db/billing/budgets/terms.ts';
import { openModelStep, type OpenedStep, type StepClaim, type StepToOpen } from '../../domain/runs/steps/model-steps.ts';
import { lostEntries } from '../../db/runs/steps/retries.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { newStepSpan } from '../../ports/telemetry/origin.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { ResolvedModel } from '../../ports/models/models.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsRun } from '../runs/as-run.ts';
import { refuseGivenUp } from '../support/stale-attempt.ts';
import { giveUp, workerLost } from '../support/failures.ts';
import type { ModelTry } from './model-try.ts';
import { triesPerModel, triesWithError } from './errors/tries.ts';
import { readApprovedSlugs } from '../../db/approvals/earlier-answers.ts';
import { readCallsMade } from '../../db/runs/calls/planned-calls.ts';

const maxLostTries = 3;

export type ClaimedTry = Exclude<StepClaim, OpenedStep | { readonly kind: 'held' }> | { readonly kind: 'try'; readonly modelTry: ModelTry };

/**
 * Claims a try. A try that another attempt holds is taken over only by the attempt that Temporal still waits for. `model` is tried before the models that the
 * run has pinned; null: no such model.
 */
export async function claimTry(deps: ActivityDeps, runId: string, step: number, model: string | null = null): Promise<ClaimedTry> {
  let over: number | null = null;
  for (;;) {
    const claimed = await claimOver(deps, { runId, step, over, model });
    if (claimed.kind !== 'held') return claimed;
    await refuseGivenUp();
    over = claimed.attempt;
  }
}

/** One transaction, with the current prices and the budgets that apply to the call. */
function claimOver(
  deps: ActivityDeps,
  { runId, step, over, model: first }: Required<Omit<StepToOpen, 'span'>> & { readonly model: string | null },
): Promise<ClaimedTry | Extract<StepClaim, { kind: 'held' }>> {
  return transactAsRun(deps, runId, async (tx) => {
    const span = newStepSpan();
    const claimed = await openModelStep(tx, { runId, step, over, span });
    if (claimed.kind !== 'open') return claimed;
    const opened = first === null ? claimed : withModel(claimed, first);
    if (lostEntries(opened.retries) >= maxLostTries) throw workerLost();
    const model = modelOf(deps, opened);
    const place = { workspaceId: opened.run.workspace_id, caps: capsAbove(opened.run) };
    const [terms, callsMade, approved] = await Promise.all([
      readTerms(tx, { id: model.id, currency: deps.env.billingCurrency }, place),
      readCallsMade(tx, runId),
      approvedIn(tx, opened),
    ]);
    refuseUnpriced(deps, model, terms);
    return { kind: 'try' as const, modelTry: { opened, span, step, model, terms, startedAt: terms.at, callsMade, approved } };
  });
}

/** Returns the tools whose one-time approval has been given; reads them only where the run has such tools. */
async function approvedIn(tx: TenantTransaction, { run }: OpenedStep): Promise<ReadonlySet<string>> {
  return run.manifest.tools.some(({ gate }) => gate === 'first') ? readApprovedSlugs(tx, run.id) : new Set();
}

function withModel(opened: OpenedStep, first: string): OpenedStep {
  const { manifest } = opened.run;
  const models = [first, ...manifest.models.filter((id) => id !== first)];
  return { ...opened, run: { ...opened.run, manifest: { ...manifest, models } } };
}

/** Returns the pinned model, or the next fallback once its tries are used up. */
function modelOf({ models }: ActivityDeps, opened: OpenedStep): ResolvedModel {
  const pinned = opened.run.manifest.models;
  const id = pinned[Math.min(Math.floor(triesWithError(opened.retries) / triesPerModel), pinned.length - 1)];
  const model = id === undefined ? null : models.resolve(id);
  if (!model)
    throw giveUp(
      fail('upstream_failed', {
        reason: 'model_unavailable',
        detail:
          'This deployment no longer has the model of this run. Ask an operator to add it to LONGHAUL_MODEL_REGISTRY, or name another model in a new revision.',
      }),
    );
  return model;
}

/** Under an enforced budget, the cost of a model without a price would go unseen: the run fails unless the deployment says otherwise. */
function refuseUnpriced({ env }: ActivityDeps, model: ResolvedModel, { prices, isBounded }: CallTerms): void {
  if (model.isFree || prices.length > 0 || !rejectsUnpriced(env.unpricedModel, isBounded)) return;
  throw giveUp(
    fail('validation_failed', {
      reason: 'unpriced_model',
      detail: `The model ${model.id} has no price, and an enforced budget does not allow calls without one. An operator can import a price or set UNPRICED_MODEL=zero_with_alert.`,
    }),
  );
}
