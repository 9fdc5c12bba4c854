import { groupHashes, hunkHash } from '../../../ports/diff/hunk-hash.ts';
import type { FilePatch, Hunk } from '../../../ports/diff/patch.ts';
import type { ReviewMode } from '../../../workflows/contracts/review/code-review.ts';

/** A file of the change with the hashes of its hunks (`hashesOf`). */
export interface HashedFile extends FilePatch {
  readonly hashes: readonly string[];
}

/** The result of the last completed review: which hunks it judged, against which base, by which playbook. */
export interface LastReview {
  readonly mergeBaseSha: string;
  readonly baseRef: string;
  readonly playbookRevisionId: string;
  /** By path: hashes of all hunks of its head. */
  readonly hashes: ReadonlyMap<string, readonly string[]>;
}

/** The change that this review looks at. */
export interface ReviewedHead {
  readonly files: readonly HashedFile[];
  readonly mergeBaseSha: string;
  readonly baseRef: string;
  readonly playbookRevisionId: string;
  /** A full review was requested, or the binding never reviews in part. */
  readonly isFull: boolean;
}

/** The hunks to be judged, by path; and whether they are all of the change. */
export interface Surface {
  readonly mode: ReviewMode;
  readonly hunks: ReadonlyMap<string, readonly Hunk[]>;
}

/**
 * Returns the surface of a review: hunks that the last reviewed head lacked. The surface is the whole change when there was no such head, when the base ref or
 * playbook has changed, when more than half of the files (and more than one) have changed since, or when a full review is requested.
 */
export function surfaceOf(head: ReviewedHead, last: LastReview | null): Surface {
  if (last === null || head.isFull || head.baseRef !== last.baseRef || head.playbookRevisionId !== last.playbookRevisionId)
    return fullSurface(head);

  const isSameBase = head.mergeBaseSha === last.mergeBaseSha;
  const hunks = new Map<string, readonly Hunk[]>();
  for (const file of head.files) {
    const known = new Set([...(last.hashes.get(file.path) ?? []), ...(last.hashes.get(file.previousPath ?? file.path) ?? [])]);
    const fresh = file.hunks.filter((hunk) => !isJudged(hunk, known, isSameBase));
    if (fresh.length > 0) hunks.set(file.path, fresh);
  }
  if (hunks.size === 0) return { mode: 'no_change', hunks };
  // In a change of one file this file is more than half, but no reason to judge the rest of it again.
  if (hunks.size > 1 && hunks.size > head.files.length / 2) return fullSurface(head);
  return { mode: 'incremental', hunks };
}

/**
 * Whether a hunk has been judged. On the same base its whole text counts, so that moved lines are judged in their new location. When the base has moved,
 * context lines change without the author: then each group of changed lines counts alone.
 */
function isJudged(hunk: Hunk, known: ReadonlySet<string>, isSameBase: boolean): boolean {
  if (known.has(hunkHash(hunk))) return true;
  return !isSameBase && groupHashes(hunk).every((hash) => known.has(hash));
}

function fullSurface({ files }: ReviewedHead): Surface {
  return { mode: 'full', hunks: new Map(files.filter(({ hunks }) => hunks.length > 0).map(({ path, hunks }) => [path, hunks])) };
}
