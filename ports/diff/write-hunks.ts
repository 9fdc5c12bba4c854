import type { Hunk, PatchLine } from './patch.ts';

const signs = { context: ' ', added: '+', removed: '-' } as const satisfies Record<PatchLine['kind'], string>;

/** Writes hunks as git prints them, in the form that `parseHunks` reads. */
export function writeHunks(hunks: readonly Hunk[]): string {
  const parts: string[] = [];
  for (const { oldStart, oldLines, newStart, newLines, section, lines } of hunks) {
    parts.push(`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@ ${section}\n`);
    for (const { kind, text, noNewline } of lines) parts.push(signs[kind], text, noNewline ? '\n\\ No newline at end of file\n' : '\n');
  }
  return parts.join('');
}
