import type { Liquid } from 'liquidjs';
import { isInexact } from '../../workflows/contracts/tools/exact-json.ts';

const calculating = [
  'abs',
  'at_least',
  'at_most',
  'ceil',
  'divided_by',
  'floor',
  'minus',
  'modulo',
  'plus',
  'round',
  'sum',
  'times',
  'to_integer',
] as const;
const markup = /\{\{[^]*?\}\}|\{%[^]*?%\}/g;
const quoted = /"[^"]*"|'[^']*'/g;
const literals = /(?<![\w.])\d+(?:\.\d+)?(?![\w.])/g;
const form = /^\s*[+-]?\d+(?:\.\d+)?\s*$/;

type Filter = (this: unknown, ...given: unknown[]) => unknown;

/** Makes filters that calculate fail where a double would change a number from 2^53 on: they would output its neighbour. */
export function keepNumbers(engine: Liquid): void {
  for (const name of calculating) {
    const filter = engine.filters[name];
    const own = (typeof filter === 'function' ? filter : filter?.handler) as Filter | undefined; // the engine's type binds `this`
    if (own === undefined) continue;
    engine.registerFilter(name, function* keeping(this: unknown, ...given: unknown[]): Generator<unknown, unknown, unknown> {
      for (const value of given.flat()) if (typeof value === 'string' && form.test(value)) refuseInexact(value.trim());
      const made = own.apply(this, given);
      const result: unknown = isGenerator(made) ? yield* made : made;
      if (Number.isFinite(result) && Math.abs(Number(result)) >= 2 ** 53) throw inexact();
      return result;
    });
  }
}

/** Throws for a number in the markup of a template that a double would change: Liquid has no other number type. */
export function refuseLiterals(template: string): void {
  for (const [piece] of template.matchAll(markup))
    for (const [literal] of piece.replaceAll(quoted, '""').matchAll(literals)) refuseInexact(literal);
}

function refuseInexact(literal: string): void {
  if (isInexact(literal.replace(/^\+/, ''), 'large')) throw inexact();
}

function inexact(): Error {
  return new Error('a number of 2^53 or more cannot be represented exactly: templates can print it as a string, but not calculate with it');
}

function isGenerator(made: unknown): made is Generator<unknown, unknown, unknown> {
  return made !== null && typeof made === 'object' && 'next' in made && Symbol.iterator in made;
}
