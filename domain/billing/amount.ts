import { Decimal } from 'decimal.js';
import { invalid } from '../../workflows/contracts/failure.ts';

const decimalText = /^(?:0|[1-9]\d*)(?:\.\d+)?$/;
/** JSON numbers are doubles: more digits than this are not what was written. */
const maxNumberDigits = 15;
const maxWhole = new Decimal('1e11');

/**
 * An amount that a caller sent, as a number or as text: its decimal without an exponent. A number of more than 15 significant digits, a sign, an exponent in
 * a text, more than `maxDecimals` decimals, or 10^11 and more is 422 at `pointer`.
 */
export function parseAmount(pointer: string, value: number | string, maxDecimals = 9): string {
  const isNegative = typeof value === 'number' && (value < 0 || Object.is(value, -0));
  if (isNegative || (typeof value === 'string' && !decimalText.test(value)))
    throw invalid(pointer, 'decimal', 'must be a decimal without sign and exponent');
  const amount = new Decimal(value);
  if (typeof value === 'number' && amount.precision() > maxNumberDigits)
    throw invalid(pointer, 'precision', `has more than ${maxNumberDigits} significant digits; send it as text`);
  const text = typeof value === 'number' ? amount.toFixed() : value;
  if ((text.split('.')[1] ?? '').length > maxDecimals) throw invalid(pointer, 'decimals', `must have at most ${maxDecimals} decimals`);
  if (amount.gte(maxWhole)) throw invalid(pointer, 'range', 'must be below 100000000000');
  return amount.toFixed();
}
