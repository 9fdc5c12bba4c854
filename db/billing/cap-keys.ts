/** The cap of a run with `max_cost`: it bounds the run with its descendants. */
export function runCapKey(runId: string): string {
  return `run:${runId}`;
}

/** Keys of the caps that may stand above the calls of a run: its ancestors' and its own. */
export function capsAbove(run: { readonly id: string; readonly lineage: readonly string[] }): string[] {
  return [...run.lineage, run.id].map(runCapKey);
}
