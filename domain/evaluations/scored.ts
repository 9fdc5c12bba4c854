import type { ExpectedCall } from '../../workflows/contracts/evaluations.ts';

/** A tool call that a run made. */
export interface MadeCall {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** A run's answer and usage, and its item's expectations: everything that an evaluator without a model needs. */
export interface ScoredAnswer {
  /** The text of the answer; for an answer of JSON alone, that JSON. */
  readonly text: string;
  /** The JSON of the answer, or its text parsed as JSON; undefined when it is not JSON. */
  readonly json: unknown;
  /** Null: the item expects nothing. */
  readonly expected: unknown;
  readonly toolsExpected: readonly ExpectedCall[] | null;
  readonly calls: readonly MadeCall[];
  readonly citedItemIds: readonly string[];
  readonly foundItemIds: readonly string[];
  readonly latencyMs: number;
  /** Decimal in the billing currency. */
  readonly cost: string;
  readonly tokens: { readonly input: number; readonly output: number };
  readonly turns: number;
}

/** The result of an evaluator: a score between 0 and 1 with details, or that it does not apply to this item. */
export type Scoring =
  | {
      readonly kind: 'scored';
      readonly score: number;
      readonly reason: string | null;
      readonly details?: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: 'skipped'; readonly reason: string };

/** A score with its reason. */
export function scored(score: number, reason: string | null = null, details: Readonly<Record<string, unknown>> = {}): Scoring {
  return { kind: 'scored', score, reason, details };
}

/** 1 or 0. */
export function passedIf(isPassed: boolean, reason: string, details: Readonly<Record<string, unknown>> = {}): Scoring {
  return scored(isPassed ? 1 : 0, isPassed ? null : reason, details);
}

/** The item lacks what the evaluator needs. */
export function notApplicable(reason: string): Scoring {
  return { kind: 'skipped', reason };
}
