import type { CallTerms } from '../../db/billing/budgets/terms.ts';
import { callKey } from '../../db/billing/ledger/call-key.ts';
import type { ModelUsage } from '../../db/billing/ledger/usage.ts';
import type { OpenedStep } from '../../domain/runs/steps/model-steps.ts';
import type { ResolvedModel } from '../../ports/models/models.ts';
import { ownAttribute } from '../../ports/telemetry/conventions.ts';
import type { StepSpan } from '../../ports/telemetry/origin.ts';
import type { ActivityDeps } from '../deps.ts';
import type { ChatSpan } from './usage/measure-call.ts';
import { ledgerTokens, type TokenUsage } from './usage/usage.ts';

/** A claimed try of a model step: everything that the call and its bookkeeping need. */
export interface ModelTry {
  readonly opened: OpenedStep;
  /** Its span, which the step's row names; null: nothing is traced. */
  readonly span: StepSpan | null;
  readonly step: number;
  readonly model: ResolvedModel;
  /** The model's prices, and whether the call has to pass the budget check. */
  readonly terms: CallTerms;
  /** When the try was claimed; once it has passed the budget check, when its hold was reserved. */
  readonly startedAt: Date;
  readonly callsMade: ReadonlyMap<string, number>;
  /** Slugs of tools that have been approved in this run. */
  readonly approved: ReadonlySet<string>;
}

/** The key under which a try reserves and settles its hold. */
export function callKeyOf({ opened, step }: ModelTry): string {
  return callKey('run', opened.run.id, step, opened.attempt);
}

/** Returns the id of the try's span, and the attributes by which its rows are found. */
export function spanOf({ opened, span, step }: ModelTry): ChatSpan {
  return {
    ...(span === null ? {} : { spanId: span.spanId }),
    attributes: { [ownAttribute.runId]: opened.run.id, [ownAttribute.step]: step, [ownAttribute.attempt]: opened.attempt },
  };
}

/** The call's ledger entry, in disjoint buckets. */
export function usageOf(
  deps: ActivityDeps,
  { model, terms, startedAt }: ModelTry,
  usage: TokenUsage,
  providerRequestId: string | null,
): ModelUsage {
  return {
    model: model.id,
    provider: model.provider,
    providerRequestId,
    isFree: model.isFree,
    tokens: ledgerTokens(usage),
    estimated: usage.estimated,
    currency: deps.env.billingCurrency,
    reservedAt: startedAt,
    prices: terms.prices,
  };
}
