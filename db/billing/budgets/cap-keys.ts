/** Returns the cap key of a run with `max_cost`: the cap bounds the run with its descendants. */
export function runCapKey(runId: string): string {
  return `run:${runId}`;
}

/** Returns the cap key of an evaluation with `max_cost`: the cap bounds the runs of its items, with their descendants, and its judges. */
export function evaluationCapKey(evaluationRunId: string): string {
  return `eval:${evaluationRunId}`;
}

/** Returns the cap key of a pull request with `per_pr`: the cap bounds all its reviews together. */
export function reviewPullCapKey(pullRequestId: string): string {
  return `review-pr:${pullRequestId}`;
}

/** Returns the cap key of a binding with `per_day`; `day` as in 2026-01-31, in UTC. */
export function reviewDayCapKey(bindingId: string, day: string): string {
  return `review-day:${bindingId}:${day}`;
}

interface CappedRun {
  readonly id: string;
  readonly lineage: readonly string[];
  /** The evaluation that the run is a case of, or works for. */
  readonly evaluation_run_id: string | null;
  /** For a review, its binding, its pull request and its start; else absent or null. */
  readonly binding_id?: string | null;
  readonly review_pull_request_id?: string | null;
  readonly started_at?: string | Date | null;
}

/** Returns the keys of caps that may bound the calls of a run: its evaluation's, its review's, its ancestors' and its own. */
export function capsAbove(run: CappedRun): string[] {
  const { id, lineage, evaluation_run_id: evaluationRunId } = run;
  return [...(evaluationRunId === null ? [] : [evaluationCapKey(evaluationRunId)]), ...reviewCaps(run), ...[...lineage, id].map(runCapKey)];
}

/** A review counts on the day on which it started. */
function reviewCaps({ binding_id: bindingId, review_pull_request_id: pullRequestId, started_at: startedAt }: CappedRun): string[] {
  if (!bindingId || !pullRequestId || !startedAt) return [];
  return [reviewDayCapKey(bindingId, new Date(startedAt).toISOString().slice(0, 10)), reviewPullCapKey(pullRequestId)];
}
