import { Decimal } from 'decimal.js';

/** Formats a decimal for the wire: no exponent, at most 9 decimals, trailing zeros removed down to two decimals. */
export function money(amount: Decimal | string): string {
  return decimalText(amount, 9);
}

/** Like `money`, with another maximum number of decimals: prices have 12. */
export function decimalText(amount: Decimal | string, maxDecimals: number): string {
  const [whole, decimals = ''] = new Decimal(amount).toFixed(maxDecimals).split('.');
  return `${whole}.${decimals.replace(/0+$/, '').padEnd(2, '0')}`;
}
