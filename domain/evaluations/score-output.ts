import { distance } from 'fastest-levenshtein';
import { isSameJson, leavesOf } from './json-value.ts';
import { notApplicable, passedIf, scored, type ScoredAnswer, type Scoring } from './scored.ts';

const nothingExpected = 'The item has no expected value.';
const maxLetters = 10_000;

/** Parameters of `exact_match`, filled in. */
export interface ExactMatch {
  readonly trim: boolean;
  readonly case_sensitive: boolean;
  readonly unicode: 'nfc' | 'none';
}

/** 1 if the output equals the expected value: texts by the rules of the parameters, JSON by value. */
export function exactMatch(rules: ExactMatch, { text, json, expected }: ScoredAnswer): Scoring {
  if (expected === null) return notApplicable(nothingExpected);
  if (typeof expected !== 'string') return passedIf(json !== undefined && isSameJson(json, expected), 'The output is a different value.');
  const plain = (value: string): string => {
    const trimmed = rules.trim ? value.trim() : value;
    const composed = rules.unicode === 'nfc' ? trimmed.normalize('NFC') : trimmed;
    return rules.case_sensitive ? composed : composed.toLowerCase();
  };
  return passedIf(plain(text) === plain(expected), 'The output is a different text.');
}

/** Parameters of `contains` and its relatives, filled in; `values` null: the item's expected value. */
export interface Contains {
  readonly values: readonly string[] | null;
  readonly case_sensitive: boolean;
}

/** `contains`: the output contains all values; `contains_any`: at least one; `not_contains`: none; `contains_all`: the share that it contains. */
export function contains(
  type: 'contains' | 'contains_any' | 'contains_all' | 'not_contains',
  rules: Contains,
  { text, expected }: ScoredAnswer,
): Scoring {
  const values = rules.values ?? valuesOf(expected);
  if (values === null) return notApplicable('The item expects neither a text nor a list of texts.');
  const plain = (value: string): string => (rules.case_sensitive ? value : value.toLowerCase());
  const output = plain(text);
  const found = values.filter((value) => output.includes(plain(value)));
  const missing = values.filter((value) => !found.includes(value));
  switch (type) {
    case 'contains':
      return passedIf(missing.length === 0, 'The output lacks an expected text.', { missing });
    case 'contains_any':
      return passedIf(found.length > 0, 'The output contains none of the expected texts.');
    case 'contains_all':
      return scored(found.length / values.length, missing.length === 0 ? null : 'The output lacks some of the expected texts.', {
        missing,
      });
    case 'not_contains':
      return passedIf(found.length === 0, 'The output contains a text that it must not contain.', { found });
    default:
      return type satisfies never;
  }
}

function valuesOf(expected: unknown): readonly string[] | null {
  if (typeof expected === 'string') return [expected];
  const isList = Array.isArray(expected) && expected.length > 0 && expected.every((value): value is string => typeof value === 'string');
  return isList ? expected : null;
}

/** Similarity of two texts: 1 − edit distance / length of the longer one, over their first 10,000 characters. */
export function levenshtein({ text, expected }: ScoredAnswer): Scoring {
  if (expected === null) return notApplicable(nothingExpected);
  const wanted = (typeof expected === 'string' ? expected : JSON.stringify(expected)).slice(0, maxLetters);
  const given = text.slice(0, maxLetters);
  const length = Math.max(wanted.length, given.length);
  return scored(length === 0 ? 1 : 1 - distance(wanted, given) / length);
}

/** Parameters of `json_diff`, filled in. */
export interface JsonDiff {
  readonly ignore: readonly string[];
  readonly tolerance: number;
}

/** The share of equal leaves among all leaves of the expected value and the output. */
export function jsonDiff({ ignore, tolerance }: JsonDiff, { json, expected }: ScoredAnswer): Scoring {
  if (expected === null) return notApplicable(nothingExpected);
  if (json === undefined) return scored(0, 'The output is not valid JSON.');
  const isIgnored = (pointer: string): boolean => ignore.some((prefix) => pointer === prefix || pointer.startsWith(`${prefix}/`));
  const wanted = leavesOf(expected);
  const given = leavesOf(json);
  const pointers = [...new Set([...wanted.keys(), ...given.keys()])].filter((pointer) => !isIgnored(pointer));
  const different = pointers.filter((pointer) => !isEqualLeaf(wanted, given, { pointer, tolerance }));
  if (pointers.length === 0) return scored(1);
  const score = 1 - different.length / pointers.length;
  return scored(score, different.length === 0 ? null : 'Values differ.', { different: different.slice(0, 20), leaves: pointers.length });
}

function isEqualLeaf(
  wanted: ReadonlyMap<string, unknown>,
  given: ReadonlyMap<string, unknown>,
  { pointer, tolerance }: { readonly pointer: string; readonly tolerance: number },
): boolean {
  if (!wanted.has(pointer) || !given.has(pointer)) return false;
  const [left, right] = [wanted.get(pointer), given.get(pointer)];
  if (typeof left === 'number' && typeof right === 'number') return Math.abs(left - right) <= tolerance;
  return isSameJson(left, right);
}

/** Closeness of two numbers: 1 − |a − b| / max(|a|, |b|), at least 0; both 0: 1. `pointer` selects them in JSON. */
export function numericDiff(pointer: string | null, { text, json, expected }: ScoredAnswer): Scoring {
  if (expected === null) return notApplicable(nothingExpected);
  const picked = (value: unknown): unknown => (pointer === null ? value : leavesOf(value).get(pointer));
  const wanted = numberOf(typeof expected === 'object' ? picked(expected) : expected);
  if (wanted === null) return notApplicable('The expected value is not a number.');
  const given = numberOf(pointer === null ? (typeof json === 'number' ? json : text) : json === undefined ? null : picked(json));
  if (given === null) return scored(0, 'The output is not a number.');
  const largest = Math.max(Math.abs(wanted), Math.abs(given));
  return scored(largest === 0 ? 1 : Math.max(0, 1 - Math.abs(wanted - given) / largest), null, { expected: wanted, output: given });
}

function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.trim() === '') return null;
  const number = Number(value.trim());
  return Number.isFinite(number) ? number : null;
}
