import type { FilePatch } from '../../../ports/diff/patch.ts';
import type { KnownFinding } from './finding.ts';
import { squeeze } from './fingerprint.ts';
import { placesOf } from './locate.ts';
import { dataText } from './text-safety.ts';

/** The change and the files at its head, by path. */
export interface HeadState {
  readonly patches: ReadonlyMap<string, FilePatch>;
  /** Text at the head; null: the file no longer exists. Only files with open findings are needed; undefined: not known. */
  readonly textOf: (path: string) => string | null | undefined;
}

/**
 * The outcome of an open finding by the code alone. `carried`: its code is still part of the change. `outdated`: its code exists, but is no longer part of the
 * change. `changed`: its code was removed or changed; a second look decides whether it is fixed.
 */
export type FollowUp = 'carried' | 'outdated' | 'changed';

/** Follows an open finding of the ledger to a new head; in a renamed file by its earlier name. */
export function followUp(finding: KnownFinding, head: HeadState): FollowUp {
  const patch = head.patches.get(finding.path) ?? [...head.patches.values()].find(({ previousPath }) => previousPath === finding.path);
  if (patch !== undefined && standsInPatch(finding, patch)) return 'carried';
  if (finding.side === 'LEFT') return 'changed';
  const text = head.textOf(patch?.path ?? finding.path);
  if (text === undefined) return patch === undefined ? 'outdated' : 'carried';
  return text !== null && holds(text, finding.evidence) ? 'outdated' : 'changed';
}

/** Whether a text contains the lines of the evidence, complete and in sequence. Evidence is stored as models see it. */
function holds(text: string, evidence: string): boolean {
  const wanted = linesOf(evidence);
  const isThere = (lines: readonly string[]) => lines.some((_line, at) => wanted.every((line, offset) => lines[at + offset] === line));
  return wanted.length > 0 && (isThere(linesOf(text)) || isThere(linesOf(dataText(text))));
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map(squeeze)
    .filter((line) => line !== '');
}

function standsInPatch({ evidence, side }: KnownFinding, patch: FilePatch): boolean {
  return placesOf(evidence, patch.hunks).some((place) => place.side === side);
}
