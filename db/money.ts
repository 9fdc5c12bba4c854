import { Decimal } from 'decimal.js';

/** A decimal on the wire: no exponent, at most 9 decimals, trailing zeros cut down to two. */
export function money(amount: Decimal | string): string {
  return decimalText(amount, 9);
}

/** The same with another greatest number of decimals: prices have 12. */
export function decimalText(amount: Decimal | string, maxDecimals: number): string {
  const [whole, decimals = ''] = new Decimal(amount).toFixed(maxDecimals).split('.');
  return `${whole}.${decimals.replace(/0+$/, '').padEnd(2, '0')}`;
}
