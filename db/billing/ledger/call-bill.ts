import type { PinnedPrice } from '../prices/prices.ts';

/** What the bill of a call needs, should nobody come back with its answer: kept in a row while the call is under way. */
export interface CallBill {
  readonly model: string;
  readonly provider: string;
  readonly isFree: boolean;
  /** Tokens of the prompt, estimated. */
  readonly inputTokens: number;
  readonly currency: string;
  readonly reservedAt: string;
  readonly prices: readonly PinnedPrice[];
}

/** The bill of a call that belongs to no run, under the key that settles it. */
export interface KeyedBill extends CallBill {
  readonly callKey: string;
}
