import type { KeyedBill } from '../../../db/billing/ledger/call-bill.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';

/** A question to a judge model with a schema for its answer. */
export interface JudgeQuestion {
  /** Names the question within its run: repeated, it is billed once. */
  readonly step: string;
  readonly model: string;
  readonly instructions: string;
  readonly prompt: string;
  /** JSON Schema of the answer. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The kind of work; default: maintenance. */
  readonly sourceKind?: 'maintenance' | 'evaluation';
  /** The run of maintenance or the evaluation. */
  readonly runId: string;
  readonly organizationId: string;
  /** The workspace whose budget pays. */
  readonly workspaceId: string;
  /** Keys of the caps that apply; absent: none. */
  readonly caps?: readonly string[];
  readonly signal: AbortSignal;
  /** Stores the answer in the transaction that bills it, so that a retry need not ask again. */
  readonly keep: (tx: TenantTransaction, answer: Judgement, raw: string) => Promise<void>;
  /** Records that the call is in flight, so that the worker that takes over from a lost one settles it. Absent: it is not settled then. */
  readonly flight?: Flight;
}

/** The record of a call while it is in flight. */
export interface Flight {
  /** Called before the call leaves, which it must not do when this throws. */
  begin(tx: TenantTransaction, bill: KeyedBill): Promise<void>;
  /** Called when the call is settled, or cost nothing, in the transaction that settles it. */
  end(tx: TenantTransaction): Promise<void>;
}

/** A model's answer: a value that fits the schema, one that does not, or a refusal. */
export type Judgement = { readonly kind: 'fits'; readonly value: unknown } | { readonly kind: 'off_schema' | 'refused' };

/**
 * Asks a judge model. Throws 402 `budget_exceeded`, 422 `unpriced_model`, 422 with reason `judge_refused` when the provider refuses the question, 504 when it
 * does not answer, and retryable failures of its provider.
 */
export type Judge = (question: JudgeQuestion) => Promise<Judgement>;
