import type { FilePatch, Hunk, PatchLine } from './patch.ts';

/** The side of a diff: LEFT are removed lines, RIGHT are added ones and context. */
export type Side = 'LEFT' | 'RIGHT';

/** Where a comment lies, as GitHub's review API takes it: `startLine` equals `line` where it is one line. */
export interface Anchor {
  readonly path: string;
  readonly side: Side;
  readonly startLine: number;
  readonly line: number;
}

/** The lines of a file that the host allows comments on, and the hunk of each. */
export interface Commentable {
  /** Returns the hunk of a comment on these lines; null where the host would refuse it: outside the hunks, or across two of them. */
  readonly hunkOf: (lines: Omit<Anchor, 'path'>) => Hunk | null;
  /** Returns the lines of a range with their texts, as the side shows them. Empty where `hunkOf` returns null. */
  readonly linesOf: (lines: Omit<Anchor, 'path'>) => PatchLine[];
}

/**
 * Returns the lines that accept a comment: added and context lines on the right, removed ones on the left (GitHub REST API, "Create a review comment for a pull
 * request", `side` and `line`). Submodules have none.
 */
export function commentable(patch: Pick<FilePatch, 'hunks' | 'oldMode' | 'newMode' | 'binary'>): Commentable {
  const isText = !patch.binary && patch.oldMode !== submoduleMode && patch.newMode !== submoduleMode;
  const places = isText ? placesOf(patch.hunks) : { LEFT: new Map<number, Hunk>(), RIGHT: new Map<number, Hunk>() };

  const hunkOf: Commentable['hunkOf'] = ({ side, startLine, line }) => {
    const hunk = places[side].get(line);
    return hunk !== undefined && startLine <= line && places[side].get(startLine) === hunk ? hunk : null;
  };
  return { hunkOf, linesOf: (lines) => within(hunkOf(lines)?.lines ?? [], lines) };
}

/** Returns the number of a line on a side; null where it is not on it. */
export function numberOn(side: Side, line: PatchLine): number | null {
  if (side === 'RIGHT') return line.newLine;
  return line.oldLine;
}

const submoduleMode = '160000';

function placesOf(hunks: readonly Hunk[]): Record<Side, Map<number, Hunk>> {
  const places = { LEFT: new Map<number, Hunk>(), RIGHT: new Map<number, Hunk>() };
  for (const hunk of hunks) {
    for (const line of hunk.lines) {
      if (line.newLine !== null) places.RIGHT.set(line.newLine, hunk);
      else if (line.oldLine !== null) places.LEFT.set(line.oldLine, hunk);
    }
  }
  return places;
}

/** A range of removed lines may span context lines. */
function within(lines: readonly PatchLine[], { side, startLine, line: end }: Omit<Anchor, 'path'>): PatchLine[] {
  return lines.filter((line) => {
    const number = numberOn(side, line);
    return number !== null && number >= startLine && number <= end;
  });
}
