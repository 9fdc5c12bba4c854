import { decodePatch } from './decode-patch.ts';
import { hashesOf } from './hunk-hash.ts';
import { parsePatch, type FilePatch } from './patch.ts';

/** The output of `git diff`. */
export interface PatchJob {
  readonly bytes: Uint8Array;
}

/** A file of a patch with the hashes of its hunks. */
export interface HashedPatch extends FilePatch {
  readonly hashes: readonly string[];
}

/** Runs in a child of the pool: linear in the patch, but a patch may be large. Throws PatchError for a text that is no patch. */
export function work({ bytes }: PatchJob): HashedPatch[] {
  return parsePatch(decodePatch(bytes)).map((patch) => ({ ...patch, hashes: hashesOf(patch) }));
}
