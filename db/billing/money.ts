import { Decimal } from 'decimal.js';

/** A decimal on the wire: no exponent, at most 9 decimals, trailing zeros cut down to two. */
export function money(amount: Decimal | string): string {
  const [whole, decimals = ''] = new Decimal(amount).toFixed(9).split('.');
  return `${whole}.${decimals.replace(/0+$/, '').padEnd(2, '0')}`;
}
