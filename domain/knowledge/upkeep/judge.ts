import type { KeyedBill } from '../../../db/billing/ledger/call-bill.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';

/** A question to a judge model whose answer has a form. */
export interface JudgeQuestion {
  /** Names the question within its run: asked again it is billed once. */
  readonly step: string;
  readonly model: string;
  readonly instructions: string;
  readonly prompt: string;
  /** JSON Schema of the answer. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** What it works for: maintenance unless said otherwise. */
  readonly sourceKind?: 'maintenance' | 'evaluation';
  /** The run of maintenance or the evaluation. */
  readonly runId: string;
  readonly organizationId: string;
  /** Whose budget pays. */
  readonly workspaceId: string;
  /** Keys of the caps above it; absent: none. */
  readonly caps?: readonly string[];
  readonly signal: AbortSignal;
  /** Writes the answer down in the transaction that bills it, so that a retry need not ask again. */
  readonly keep: (tx: TenantTransaction, answer: Judgement, raw: string) => Promise<void>;
  /** Has it on record that the call is under way, so that whoever takes over from a lost worker settles it. Absent: nobody does. */
  readonly flight?: Flight;
}

/** What is on record of a call while it is under way. */
export interface Flight {
  /** Before the call leaves. It must not leave where this throws. */
  begin(tx: TenantTransaction, bill: KeyedBill): Promise<void>;
  /** The call is settled, or cost nothing; in the transaction that settles it. */
  end(tx: TenantTransaction): Promise<void>;
}

/** What a model answered: a value that fits the schema, something else, or that it will not. */
export type Judgement = { readonly kind: 'fits'; readonly value: unknown } | { readonly kind: 'off_schema' | 'refused' };

/**
 * Asks a judge model. Throws 402 `budget_exceeded`, 422 `unpriced_model`, 422 with reason `judge_refused` where the provider will not have it answered, 504 for one that stays
 * silent, and retryable failures of its provider.
 */
export type Judge = (question: JudgeQuestion) => Promise<Judgement>;
