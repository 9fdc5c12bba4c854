import type { Frozen } from '../faults/freezes.ts';
import type { FreezeRow } from '../freeze-row.ts';

/** One row of the table of freezes. */
export interface FreezeResult extends FreezeRow {
  readonly frozen: Frozen;
  readonly seconds: number;
}

type Row = readonly (string | number)[];

/** Head and rows: what was frozen × for how long → runs, and how many of them failed. */
export function freezeRows(results: readonly FreezeResult[]): readonly Row[] {
  const rows = results
    .toSorted((a, b) => a.frozen.localeCompare(b.frozen) || a.seconds - b.seconds)
    .map(({ frozen, seconds, counts, faults, quietMs }): Row => {
      const { runs, failed, effects, doubledEffects, frames } = counts;
      const quiet = `${(quietMs / 1_000).toFixed(0)} s`;
      return [frozen, seconds, runs, failed, effects, doubledEffects, frames.lost + frames.doubled, faults.length, quiet];
    });
  const head = ['frozen', 'seconds', 'runs', 'failed', 'effects', 'twice', 'frames lost or doubled', 'promises broken', 'quiet after'];
  return [head, ...rows];
}
