import { parseHunks } from '../../../ports/diff/patch.ts';
import { writeHunks } from '../../../ports/diff/line-diff.ts';
import type { MaterialFile, ReviewMaterial } from './material.ts';

/** Material as it is stored: hunks as text, each once. As objects they would be many times as long. */
export interface PackedMaterial extends Omit<ReviewMaterial, 'files'> {
  readonly files: readonly PackedFile[];
}

interface PackedFile extends Omit<MaterialFile, 'patch' | 'hunks'> {
  readonly patch: Omit<MaterialFile['patch'], 'hunks'> & { readonly text: string };
  /** Indexes of the hunks that are judged. */
  readonly judged: readonly number[];
}

export function packMaterial({ files, ...material }: ReviewMaterial): PackedMaterial {
  const packed = files.map(({ patch, hunks, reading, passes, pathRules, languageRules, around }): PackedFile => {
    const { path, previousPath, status, binary, oldMode, newMode } = patch;
    const judged = hunks.map((hunk) => patch.hunks.indexOf(hunk));
    const text = writeHunks(patch.hunks);
    return {
      patch: { path, previousPath, status, binary, oldMode, newMode, text },
      judged,
      reading,
      passes,
      pathRules,
      languageRules,
      around,
    };
  });
  return { ...material, files: packed };
}

export function unpackMaterial({ files, ...material }: PackedMaterial): ReviewMaterial {
  const unpacked = files.map(({ patch: { text, ...patch }, judged, ...file }): MaterialFile => {
    const hunks = parseHunks(text);
    return { ...file, patch: { ...patch, hunks }, hunks: judged.flatMap((at) => hunks[at] ?? []) };
  });
  return { ...material, files: unpacked };
}
