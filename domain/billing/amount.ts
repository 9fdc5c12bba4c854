import { invalid } from '../../workflows/contracts/failure.ts';
import { readDecimal } from './decimal-input.ts';

/** An amount that a caller sent, as a number or as text: its decimal without an exponent. What `readDecimal` refuses is 422 at `pointer`. */
export function parseAmount(pointer: string, value: number | string): string {
  const read = readDecimal(value, { maxDecimals: 9 });
  if ('rule' in read) throw invalid(pointer, read.rule, read.message);
  return read.value;
}
