/** The cap of a run with `max_cost`: it bounds the run with its descendants. */
export function runCapKey(runId: string): string {
  return `run:${runId}`;
}

/** The cap of an evaluation with `max_cost`: it bounds the runs of its items, with their descendants, and its judges. */
export function evaluationCapKey(evaluationRunId: string): string {
  return `eval:${evaluationRunId}`;
}

interface CappedRun {
  readonly id: string;
  readonly lineage: readonly string[];
  /** The evaluation that it is a case of, or works for. */
  readonly evaluation_run_id: string | null;
}

/** Keys of the caps that may stand above the calls of a run: its evaluation's, its ancestors' and its own. */
export function capsAbove({ id, lineage, evaluation_run_id: evaluationRunId }: CappedRun): string[] {
  return [...(evaluationRunId === null ? [] : [evaluationCapKey(evaluationRunId)]), ...[...lineage, id].map(runCapKey)];
}
