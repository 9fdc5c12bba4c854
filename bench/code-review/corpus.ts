import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FindingCategory, Severity } from '../../workflows/contracts/review/code-review.ts';

/** A replacement of one text of a file by another; the text stands there once. */
export type Edit = readonly [find: string, replace: string];

/** A fault that was planted: where it stands after the change, and what goes wrong. */
export interface Fault {
  /** A line of the changed file, or the start of one. */
  readonly quote: string;
  /** LEFT: the fault is what was removed. */
  readonly side?: 'LEFT';
  readonly category: FindingCategory;
  readonly severity: Severity;
  readonly what: string;
}

/** A small pull request: a source of `sources/`, what is changed in it, and the fault that the change brings in. Null: none. */
export interface CorpusPull {
  readonly id: string;
  readonly source: string;
  readonly title: string;
  readonly edits: readonly Edit[];
  readonly fault: Fault | null;
}

/** The text of a source before any change. */
export function sourceText(source: string): string {
  return readFileSync(join(import.meta.dirname, 'sources', `${source}.txt`), 'utf8');
}

/** The text after the change. Throws where an edit's text does not stand in it exactly once. */
export function changedText({ id, source, edits }: CorpusPull): string {
  return edits.reduce((text, [find, replace]) => {
    const parts = text.split(find);
    if (parts.length !== 2) throw new Error(`${id}: ${JSON.stringify(find)} stands ${parts.length - 1} times in ${source}`);
    return parts.join(replace);
  }, sourceText(source));
}

/** Where the file lies in the repository of the pull request. */
export function pathOf({ source }: Pick<CorpusPull, 'source'>): string {
  return `src/${source}`;
}
