import { hash } from 'node:crypto';

import type { FilePatch, Hunk, PatchLine } from './patch.ts';

/** Returns the hash of a hunk's text, context included, without positions: 32 hex digits. A hunk that only moved keeps it. */
export function hunkHash(hunk: Hunk): string {
  return hashOf('h', hunk.lines);
}

/**
 * Returns one hash for each group of lines that changed together, without their context: these stay the same when the lines around them change, or when two
 * hunks merge.
 */
export function groupHashes(hunk: Hunk): string[] {
  const hashes: string[] = [];
  let group: PatchLine[] = [];
  for (const line of hunk.lines) {
    if (line.kind !== 'context') group.push(line);
    else if (group.length > 0) {
      hashes.push(hashOf('g', group));
      group = [];
    }
  }
  if (group.length > 0) hashes.push(hashOf('g', group));
  return hashes;
}

/** Returns what is stored about a reviewed file: the hashes of its hunks and of their groups, each once. */
export function hashesOf(patch: FilePatch): string[] {
  return [...new Set(patch.hunks.flatMap((hunk) => [hunkHash(hunk), ...groupHashes(hunk)]))];
}

const signs = { context: ' ', added: '+', removed: '-' } as const satisfies Record<PatchLine['kind'], string>;

function hashOf(what: string, lines: readonly PatchLine[]): string {
  let text = what;
  for (const line of lines) text += `\n${signs[line.kind]}${line.text}${line.noNewline ? '\\' : ''}`;
  return hash('sha256', text, 'hex').slice(0, 32);
}
