import type { Hunk, PatchLine } from './patch.ts';

interface Edit {
  readonly kind: ' ' | '-' | '+';
  readonly line: string;
}

/** Lines of context around a change. */
const contextLines = 3;
/** Maximum number of edits up to which the shortest script is searched; texts that differ more are shown as one replacement. */
const maxEdits = 1_000;

/** Two texts to compare line by line. */
interface DiffJob {
  readonly before: string;
  readonly after: string;
}

/**
 * Returns the unified diff of two texts (three lines of context, no file header); null when they are equal. Runs in a child of the pool: hostile texts of 64
 * KiB take a second.
 */
export function work({ before, after }: DiffJob): string | null {
  if (before === after) return null;
  const edits = editsBetween(before.split('\n'), after.split('\n'));
  return hunksOf(edits)
    .map(({ from, to }) => hunkText(edits, from, to))
    .join('\n');
}

function editsBetween(before: readonly string[], after: readonly string[]): Edit[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < Math.min(before.length, after.length) - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;

  const kept = (lines: readonly string[]): Edit[] => lines.map((line) => ({ kind: ' ', line }));
  const middle = shortestEdits(before.slice(head, before.length - tail), after.slice(head, after.length - tail));
  return [...kept(before.slice(0, head)), ...middle, ...kept(before.slice(before.length - tail))];
}

/** E. W. Myers, An O(ND) Difference Algorithm and Its Variations (1986), greedy, bounded. */
function shortestEdits(before: readonly string[], after: readonly string[]): Edit[] {
  const furthest = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  for (let edits = 0; edits <= Math.min(before.length + after.length, maxEdits); edits++) {
    trace.push(new Map(furthest));
    for (let k = -edits; k <= edits; k += 2) {
      let x = isDown(furthest, k, edits) ? (furthest.get(k + 1) ?? 0) : (furthest.get(k - 1) ?? 0) + 1;
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x++;
      furthest.set(k, x);
      if (x >= before.length && x - k >= after.length) return backtrack(trace, before, after);
    }
  }
  return [...before.map((line): Edit => ({ kind: '-', line })), ...after.map((line): Edit => ({ kind: '+', line }))];
}

function isDown(furthest: ReadonlyMap<number, number>, k: number, edits: number): boolean {
  return k === -edits || (k !== edits && (furthest.get(k - 1) ?? 0) < (furthest.get(k + 1) ?? 0));
}

function backtrack(trace: readonly ReadonlyMap<number, number>[], before: readonly string[], after: readonly string[]): Edit[] {
  const reversed: Edit[] = [];
  let [x, y] = [before.length, after.length];
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const furthest = trace[edits] ?? new Map<number, number>();
    const k = isDown(furthest, x - y, edits) ? x - y + 1 : x - y - 1;
    const fromX = edits === 0 ? 0 : (furthest.get(k) ?? 0);
    const fromY = edits === 0 ? 0 : fromX - k;
    while (x > fromX && y > fromY) {
      reversed.push({ kind: ' ', line: before[--x] ?? '' });
      y--;
    }
    if (edits === 0) break;
    if (x === fromX) reversed.push({ kind: '+', line: after[--y] ?? '' });
    else reversed.push({ kind: '-', line: before[--x] ?? '' });
  }
  return reversed.toReversed();
}

/** Returns ranges of edits that belong together: changes with their context, adjacent ones joined. */
function hunksOf(edits: readonly Edit[]): { from: number; to: number }[] {
  const hunks: { from: number; to: number }[] = [];
  for (const [at, edit] of edits.entries()) {
    if (edit.kind === ' ') continue;
    const last = hunks.at(-1);
    const from = Math.max(0, at - contextLines);
    const to = Math.min(edits.length, at + contextLines + 1);
    if (last && from <= last.to) last.to = to;
    else hunks.push({ from, to });
  }
  return hunks;
}

function hunkText(edits: readonly Edit[], from: number, to: number): string {
  const lines = edits.slice(from, to);
  const count = (list: readonly Edit[], other: '-' | '+') => list.filter(({ kind }) => kind !== other).length;
  const start = (other: '-' | '+') => count(edits.slice(0, from), other) + (count(lines, other) > 0 ? 1 : 0);
  const head = `@@ -${start('+')},${count(lines, '+')} +${start('-')},${count(lines, '-')} @@`;
  return [head, ...lines.map(({ kind, line }) => kind + line)].join('\n');
}

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
