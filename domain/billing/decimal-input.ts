import { Decimal } from 'decimal.js';
import { invalid } from '../../workflows/contracts/failure.ts';

/** The most digits that a JSON number carries exactly (IEEE 754 double: 15 to 17). */
const maxSignificant = 15;
const maxWhole = new Decimal(10).pow(11);

/** A decimal that can be stored, or why it can't. */
export type DecimalInput = { readonly value: string } | { readonly rule: string; readonly message: string };

/**
 * Reads a decimal that a caller sent as string or number: no sign, no exponent in a string, below 10^11, at most `maxDecimals` decimal places (trailing zeros
 * of a string count too), and in a number no more digits than it carries exactly. `value` has no exponent.
 */
export function readDecimal(given: string | number, { maxDecimals }: { readonly maxDecimals: number }): DecimalInput {
  const isText = typeof given === 'string';
  if (isText && !/^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/.test(given)) return refused('decimal', 'must be a decimal without sign or exponent');
  if (!isText && !(Number.isFinite(given) && given >= 0 && !Object.is(given, -0)))
    return refused('decimal', 'must be a decimal of at least 0');

  const decimal = new Decimal(given);
  if (!isText && decimal.precision() > maxSignificant)
    return refused('precision', `has more than ${maxSignificant} significant digits: send it as a string`);
  const places = isText ? (given.split('.')[1]?.length ?? 0) : decimal.decimalPlaces();
  if (places > maxDecimals) return refused('decimals', `has more than ${maxDecimals} decimals`);
  if (decimal.greaterThanOrEqualTo(maxWhole)) return refused('maximum', 'must be below 100,000,000,000');
  return { value: decimal.toFixed() };
}

/** Returns the decimal at a pointer of a body. Throws 422 at the pointer for what `readDecimal` refuses. */
export function requireDecimal(pointer: string, given: string | number, { maxDecimals }: { readonly maxDecimals: number }): string {
  const read = readDecimal(given, { maxDecimals });
  if ('rule' in read) throw invalid(pointer, read.rule, read.message);
  return read.value;
}

function refused(rule: string, message: string) {
  return { rule, message };
}
