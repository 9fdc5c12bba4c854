import type { ErrorCode } from '../../workflows/contracts/error-codes.ts';

/** Tokens and cost of a run or step, as stored in `usage_own`, `usage_subtree` and `run_steps.usage`. Money is a decimal string. */
export interface UsageTotals {
  readonly model_calls: number;
  readonly tokens: {
    readonly input: number;
    readonly output: number;
    readonly cached_read: number;
    readonly cached_write: number;
    readonly reasoning: number;
  };
  readonly cost_amount: string;
  readonly currency: string;
  readonly estimated: boolean;
}

/** The bounds of a run, whole: capped by its revision when it was started. */
export interface RunLimits {
  readonly max_steps: number;
  readonly max_duration_s: number;
  readonly max_output_tokens: number | null;
  readonly max_cost: string | null;
  readonly max_children: number;
  readonly max_depth: number;
  readonly approval_ttl_s: number;
  readonly on_expiry: 'deny' | 'fail';
  readonly on_budget: 'fail' | 'wait';
}

/** Why a run ended badly. */
export interface RunFault {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly reason: string | null;
}

/** Why a step or a tool call failed: one of the 38 codes, or a result code of a tool. */
export interface StepFault {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly reason: string | null;
}

/** One lost try of a step. */
export interface StepRetry {
  readonly attempt: number;
  readonly cause: 'worker_lost' | 'upstream_error' | 'rate_limited' | 'timeout' | 'shutdown';
  readonly error_code: string | null;
  readonly at: string;
  readonly delay_ms: number;
}

/** A part of a message's content. */
export type ContentBlock =
  | { readonly type: 'text' | 'reasoning_summary' | 'refusal'; readonly text: string }
  | { readonly type: 'json'; readonly value: unknown }
  | {
      readonly type: 'citation';
      readonly item_id: string | null;
      readonly title: string;
      readonly quote: string;
      readonly url: string | null;
    }
  | {
      readonly type: 'attachment';
      readonly attachment_id: string;
      readonly media_type: string;
      readonly name: string;
      readonly bytes: number;
    };
