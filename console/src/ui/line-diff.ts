export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
}

const maxCells = 4_000_000;

/** Lines of two texts: those of both, of the first alone and of the second alone, in order. Too long and too different: all of the one, then all of the other. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const as = (kind: DiffLine['kind']) => (text: string) => ({ kind, text });
  return [
    ...a.slice(0, start).map(as('same')),
    ...diffMiddle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(as('same')),
  ];
}

/** By the longest common subsequence. */
function diffMiddle(a: readonly string[], b: readonly string[]): DiffLine[] {
  const lines: DiffLine[] = [];
  if (a.length * b.length > maxCells) {
    return [...a.map((text) => ({ kind: 'removed' as const, text })), ...b.map((text) => ({ kind: 'added' as const, text }))];
  }
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    const [one, other] = [a[i], b[j]];
    if (one !== undefined && one === other) {
      lines.push({ kind: 'same', text: one });
      i++;
      j++;
    } else if (one !== undefined && (other === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: 'removed', text: one });
      i++;
    } else if (other !== undefined) {
      lines.push({ kind: 'added', text: other });
      j++;
    }
  }
  return lines;
}
