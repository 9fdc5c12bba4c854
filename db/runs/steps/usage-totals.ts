import { Decimal } from 'decimal.js';
import { money } from '../../money.ts';
import type { UsageTotals } from '../../billing/ledger/usage.ts';

/** Returns the totals of a run that has made no calls yet. */
export function noUsage(currency: string): UsageTotals {
  return {
    model_calls: 0,
    tokens: { input: 0, output: 0, cached_read: 0, cached_write: 0, reasoning: 0 },
    cost_amount: '0.00',
    currency,
    estimated: false,
  };
}

/** Returns the sum of two totals; the currency is that of `right`, since usage is priced in the deployment's base currency. */
export function addUsage(left: UsageTotals, right: UsageTotals): UsageTotals {
  return {
    model_calls: left.model_calls + right.model_calls,
    tokens: {
      input: left.tokens.input + right.tokens.input,
      output: left.tokens.output + right.tokens.output,
      cached_read: left.tokens.cached_read + right.tokens.cached_read,
      cached_write: left.tokens.cached_write + right.tokens.cached_write,
      reasoning: left.tokens.reasoning + right.tokens.reasoning,
    },
    cost_amount: money(new Decimal(left.cost_amount).plus(right.cost_amount)),
    currency: right.currency,
    estimated: left.estimated || right.estimated,
  };
}
