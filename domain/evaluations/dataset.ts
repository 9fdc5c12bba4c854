import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { NewItem } from '../../db/evaluations/insert-evaluation.ts';
import { fail, type Violation } from '../../workflows/contracts/failure.ts';
import type { DatasetItem } from '../../workflows/contracts/evaluations.ts';

/** An item as it was sent, checked by itself, and its location: its pointer in the body, or its line. */
export interface SentItem {
  readonly item: DatasetItem;
  readonly place: { readonly pointer: string; readonly line: number | null };
}

const maxProblems = 50;

/**
 * Returns the items of a data set with their keys and hashes. Throws 422 for an empty data set (`dataset_empty`), a repeated key and an unknown evaluator, by
 * pointer or line, with at most 50 violations.
 */
export function toItems(sent: readonly SentItem[], evaluatorKeys: ReadonlySet<string>): NewItem[] {
  if (sent.length === 0) throw datasetEmpty();
  const problems: Violation[] = [];
  const keys = new Set<string>();
  const items = sent.map(({ item, place }, at): NewItem => {
    const key = item.id ?? String(at + 1);
    if (keys.has(key)) problems.push(violation(place, 'unique', 'another item already has this id'));
    keys.add(key);
    const unknown = (item.evaluators ?? []).some((name) => !evaluatorKeys.has(name));
    if (unknown) problems.push(violation(place, 'reference', 'names an evaluator that does not exist'));
    return { ...item, key, contentSha256: hashOf(item) };
  });
  if (problems.length > 0) throw fail('validation_failed', { errors: problems.slice(0, maxProblems) });
  return items;
}

/** 422 for a data set without items. */
export function datasetEmpty(): Error {
  return fail('validation_failed', { reason: 'dataset_empty', detail: 'The data set has no items.' });
}

/** Identifies the data set by keys and hashes of its items in their order. */
export function datasetHash(items: readonly Pick<NewItem, 'key' | 'contentSha256'>[]): string {
  return sha256(canonicalize(items.map(({ key, contentSha256 }) => [key, contentSha256])) ?? '');
}

function hashOf({ input, expected, context, toolsExpected }: SentItem['item']): string {
  return sha256(canonicalize({ input, expected, context, tools_expected: toolsExpected }) ?? '');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function violation({ pointer, line }: SentItem['place'], rule: string, message: string): Violation {
  const told = line === null ? message : `line ${line}: ${message}`;
  return { in: 'body', pointer, name: null, rule, message: told, ...(line === null ? {} : { params: { line } }) };
}
