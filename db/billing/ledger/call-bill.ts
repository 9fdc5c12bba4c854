import type { PinnedPrice } from '../prices/prices.ts';

/** What the bill of a call needs in case no answer ever arrives; it is stored in a row while the call is in flight. */
export interface CallBill {
  readonly model: string;
  readonly provider: string;
  readonly isFree: boolean;
  /** Estimated tokens of the prompt. */
  readonly inputTokens: number;
  readonly currency: string;
  readonly reservedAt: string;
  readonly prices: readonly PinnedPrice[];
}

/** The bill of a call outside any run, with the key that settles it. */
export interface KeyedBill extends CallBill {
  readonly callKey: string;
}
