/** The cap of a run with `max_cost`: it bounds the run with its descendants. */
export function runCapKey(runId: string): string {
  return `run:${runId}`;
}

/** The cap of an evaluation with `max_cost`: it bounds the runs of its items, with their descendants, and its judges. */
export function evaluationCapKey(evaluationRunId: string): string {
  return `eval:${evaluationRunId}`;
}

/** The cap of a pull request with `per_pr`: it bounds all its reviews together. */
export function reviewPullCapKey(pullRequestId: string): string {
  return `review-pr:${pullRequestId}`;
}

/** The cap of a binding with `per_day`; `day` as in 2026-01-31, by UTC. */
export function reviewDayCapKey(bindingId: string, day: string): string {
  return `review-day:${bindingId}:${day}`;
}

interface CappedRun {
  readonly id: string;
  readonly lineage: readonly string[];
  /** The evaluation that it is a case of, or works for. */
  readonly evaluation_run_id: string | null;
  /** Of a review: its binding, its pull request and its start; absent or null: it is none. */
  readonly binding_id?: string | null;
  readonly review_pull_request_id?: string | null;
  readonly started_at?: string | Date | null;
}

/** Keys of the caps that may stand above the calls of a run: its evaluation's, its ancestors' and its own. */
export function capsAbove(run: CappedRun): string[] {
  const { id, lineage, evaluation_run_id: evaluationRunId } = run;
  return [...(evaluationRunId === null ? [] : [evaluationCapKey(evaluationRunId)]), ...reviewCaps(run), ...[...lineage, id].map(runCapKey)];
}

/** A review counts on the day on which it started. */
function reviewCaps({ binding_id: bindingId, review_pull_request_id: pullRequestId, started_at: startedAt }: CappedRun): string[] {
  if (!bindingId || !pullRequestId || !startedAt) return [];
  return [reviewDayCapKey(bindingId, new Date(startedAt).toISOString().slice(0, 10)), reviewPullCapKey(pullRequestId)];
}
